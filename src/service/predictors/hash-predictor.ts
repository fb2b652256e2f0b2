/** Predicts from a hash of the name's bytes: fast, for rehearsals of any size. The predictions mean nothing. */
import { QUOTE } from '../../csv/bytes.js';
import { type Failure, NAME_EMPTY, type Prediction, type Predictor } from './predictor.js';

/** Industries of NAICS 2017 that the hash predictor picks from: code and title. */
export const HASH_INDUSTRIES: readonly (readonly [code: string, title: string])[] = [
  ['111998', 'All Other Miscellaneous Crop Farming'],
  ['112111', 'Beef Cattle Ranching and Farming'],
  ['113310', 'Logging'],
  ['115116', 'Farm Management Services'],
  ['211120', 'Crude Petroleum Extraction'],
  ['212321', 'Construction Sand and Gravel Mining'],
  ['221118', 'Other Electric Power Generation'],
  ['221310', 'Water Supply and Irrigation Systems'],
  ['236115', 'New Single-Family Housing Construction (except For-Sale Builders)'],
  ['236220', 'Commercial and Institutional Building Construction'],
  ['237310', 'Highway, Street, and Bridge Construction'],
  ['238160', 'Roofing Contractors'],
  ['238210', 'Electrical Contractors and Other Wiring Installation Contractors'],
  ['238220', 'Plumbing, Heating, and Air-Conditioning Contractors'],
  ['311811', 'Retail Bakeries'],
  ['312120', 'Breweries'],
  ['321113', 'Sawmills'],
  ['323111', 'Commercial Printing (except Screen and Books)'],
  ['332710', 'Machine Shops'],
  ['337110', 'Wood Kitchen Cabinet and Countertop Manufacturing'],
  ['339950', 'Sign Manufacturing'],
  ['423830', 'Industrial Machinery and Equipment Merchant Wholesalers'],
  ['424480', 'Fresh Fruit and Vegetable Merchant Wholesalers'],
  ['441110', 'New Car Dealers'],
  ['444130', 'Hardware Stores'],
  ['445110', 'Supermarkets and Other Grocery (except Convenience) Stores'],
  ['445310', 'Beer, Wine, and Liquor Stores'],
  ['447110', 'Gasoline Stations with Convenience Stores'],
  ['448140', 'Family Clothing Stores'],
  ['453220', 'Gift, Novelty, and Souvenir Stores'],
  ['454110', 'Electronic Shopping and Mail-Order Houses'],
  ['481211', 'Nonscheduled Chartered Passenger Air Transportation'],
  ['484121', 'General Freight Trucking, Long-Distance, Truckload'],
  ['485310', 'Taxi Service'],
  ['488410', 'Motor Vehicle Towing'],
  ['492210', 'Local Messengers and Local Delivery'],
  ['493110', 'General Warehousing and Storage'],
  ['511210', 'Software Publishers'],
  ['517311', 'Wired Telecommunications Carriers'],
  ['518210', 'Data Processing, Hosting, and Related Services'],
  ['522110', 'Commercial Banking'],
  ['523930', 'Investment Advice'],
  ['524210', 'Insurance Agencies and Brokerages'],
  ['531210', 'Offices of Real Estate Agents and Brokers'],
  ['531311', 'Residential Property Managers'],
  ['541110', 'Offices of Lawyers'],
  ['541211', 'Offices of Certified Public Accountants'],
  ['541330', 'Engineering Services'],
  ['541511', 'Custom Computer Programming Services'],
  ['541611', 'Administrative Management and General Management Consulting Services'],
  ['541940', 'Veterinary Services'],
  ['551112', 'Offices of Other Holding Companies'],
  ['561320', 'Temporary Help Services'],
  ['561730', 'Landscaping Services'],
  ['611110', 'Elementary and Secondary Schools'],
  ['621111', 'Offices of Physicians (except Mental Health Specialists)'],
  ['621210', 'Offices of Dentists'],
  ['622110', 'General Medical and Surgical Hospitals'],
  ['623110', 'Nursing Care Facilities (Skilled Nursing Facilities)'],
  ['624410', 'Child Day Care Services'],
  ['711110', 'Theater Companies and Dinner Theaters'],
  ['713940', 'Fitness and Recreational Sports Centers'],
  ['721110', 'Hotels (except Casino Hotels) and Motels'],
  ['722511', 'Full-Service Restaurants'],
  ['722513', 'Limited-Service Restaurants'],
  ['722515', 'Snack and Nonalcoholic Beverage Bars'],
  ['811111', 'General Automotive Repair'],
  ['812112', 'Beauty Salons'],
  ['812210', 'Funeral Homes and Funeral Services'],
  ['813110', 'Religious Organizations'],
  ['813910', 'Business Associations'],
];

/** One name in this many fails. */
const NAMES_PER_FAILURE = 50;
const FAILED: Failure = { reason: 'no industry matches the name' };
const CONFIDENCES = 50;

/** Every possible prediction, created once: confidence 0.50 to 0.99 for each industry. */
const PREDICTIONS: readonly Prediction[] = HASH_INDUSTRIES.flatMap(([code, title]) =>
  Array.from({ length: CONFIDENCES }, (_, step) => ({ code, title, confidence: (50 + step) / 100 })),
);

/** Fails about one name in fifty, always the same ones. */
export function createHashPredictor(): Predictor {
  return {
    predict(name) {
      const bytes = Buffer.from(name);
      return bytes.length === 0 ? NAME_EMPTY : outcome(hashBytes(bytes, 0, bytes.length, false));
    },
    predictRaw(bytes, start, end) {
      const quoted = end - start >= 2 && bytes[start] === QUOTE;
      const from = quoted ? start + 1 : start;
      const to = quoted ? end - 1 : end;
      return from === to ? NAME_EMPTY : outcome(hashBytes(bytes, from, to, quoted));
    },
  };
}

function outcome(hash: number): Prediction | Failure {
  if (hash % NAMES_PER_FAILURE === 0) return FAILED;
  return PREDICTIONS[Math.floor(hash / NAMES_PER_FAILURE) % PREDICTIONS.length]!;
}

/** FNV-1a (32 bits) and a final mix, because its low bits alone are too regular. A doubled quote counts once. */
function hashBytes(bytes: Uint8Array, start: number, end: number, quoted: boolean): number {
  let hash = 0x811c9dc5;
  for (let index = start; index < end; index++) {
    const byte = bytes[index]!;
    if (quoted && byte === QUOTE) index++;
    hash = Math.imul(hash ^ byte, 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}
