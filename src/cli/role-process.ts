/** Entry of the processes that `tollgate start` starts: one role each, named by the arguments. */
import { main } from '../main.ts'
import { STANDBY, standBy } from './ipc.ts'

const given = process.argv.slice(2)
if (given.includes(STANDBY)) standBy()
process.exitCode = await main(given.filter((argument) => argument !== STANDBY))
