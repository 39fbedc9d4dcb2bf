/** Shared with the benchmark. */
export { type Ended, tollgate } from '../product/command.ts'
