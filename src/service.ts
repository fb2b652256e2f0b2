/** The names of `foliopipe/service`: the local service, for the tests of programs that embed foliopipe. */
export { parseFaults, readFaults } from './service/faults/read-faults.js';
export type { FaultPlan } from './service/faults/rule.js';
export type { Operation } from './service/http/operation.js';
export {
  openService,
  type PredictorName,
  type Service,
  type ServiceOptions,
} from './service/open-service.js';
export type { ServiceLogger } from './service/service-logger.js';
export type { AcceptedUpload } from './service/uploads/accepted-uploads.js';
