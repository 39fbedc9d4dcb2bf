/** Shared with the benchmark. */
export { tollgate } from '../product/command.ts'
