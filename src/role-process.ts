/**
 * Entry point of the processes that `tollgate start` starts: one role each, named by an argument.
 */
import { STANDBY, standBy } from './cli/ipc.ts'
import { main } from './main.ts'

const given = process.argv.slice(2)
if (given.includes(STANDBY)) standBy()
process.exitCode = await main(given.filter((argument) => argument !== STANDBY))
