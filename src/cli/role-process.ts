/** Entry of the processes that `tollgate start` starts: one role each, named by the arguments. */
import { main } from '../main.ts'

process.exitCode = await main(process.argv.slice(2))
