/** The benchmark runs commands, too: by the same function. */
export { type Ended, tollgate } from '../product/command.ts'
