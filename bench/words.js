/** The words of which invented businesses are made; all of them can be written in Latin-1. */

const list = (text) => text.trim().split(/\s*,\s*/);

/** Places and things of the land after which businesses are named. */
export const places = list(`
  Bitterroot, Yellowstone, Big Sky, Cottonwood, Juniper, Granite, Cedar Creek, Lakeside, Northgate, Prairie,
  Red Rock, Silver Fork, Sunrise, Timberline, Valley, Wild Rose, Cañon, Río Verde, Harbor, Old Mill, Pioneer,
  Summit, Twin Rivers, Blue Heron
`);

export const families = list(`
  Abbott, Brandt, Castañeda, Dufresne, Ellery, Fairweather, Göransson, Hollis, Iverson, Jasper, Kessler,
  Lindqvist, Müller, Nakai, Ortega, Pruitt, Quimby, Réaux, Santos, Tolliver, Underhill, Vance, Whitlock,
  Yoder, Zamora, Benoît
`);

/** What a business does, in words that an industry's title has too. */
export const trades = list(`
  Dental Clinic, Roofing, Plumbing, Veterinary Services, Bakery, Brewery, Auto Repair, Law Offices,
  Landscaping, Pharmacy, Florist, Hardware Store, Beauty Salon, Bookkeeping, Architects,
  Electrical Contractors, Restaurant, Hotel, Real Estate, Insurance Agency, Cattle Ranch, Logging, Trucking,
  Masonry, Furniture Store, Daycare, Fitness Center, Museum, Car Wash, Dairy, Café, Engineering Services,
  Photography Studio, Funeral Home, Nursery
`);

/** Ends of names that say nothing of what a business does. */
export const owners = list('Holdings LLC, Group, Enterprises, Partners, & Co, Brothers LLC, Ventures');

export const streets = list(`
  Main St, Oak Ave, N 27th St, Whitefish Stage Rd, Higgins Ave, Elm St, Broadway, Mill Rd, W Park St,
  Airport Rd, Grand Ave, River Dr S, US Highway 2, Church St, Lincoln Way
`);

/** City, state, and the first three digits of its zip codes. */
export const cities = [
  ['Missoula', 'MT', '598'],
  ['Billings', 'MT', '591'],
  ['Helena', 'MT', '596'],
  ["Coeur d'Alene", 'ID', '838'],
  ['Española', 'NM', '875'],
  ['San José', 'CA', '951'],
  ['Portland', 'ME', '041'],
  ['Springfield', 'MA', '011'],
  ['Cañon City', 'CO', '812'],
  ['St. Paul', 'MN', '551'],
];

export const notes = list(`
  call first, seasonal, new owner, moved in May, no signage, rear entrance, très bon, open late, by appointment
`);
