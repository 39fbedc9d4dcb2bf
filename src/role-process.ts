/**
 * Entry of the processes that `tollgate start` starts: one role each, named by an argument. It does
 * not load the command line.
 */
import { STANDBY, standBy } from './cli/ipc.ts'
import { type RoleName, runRole } from './cli/role.ts'
import { Shell } from './cli/shell.ts'
import { ROLES } from './roles.ts'

const args = process.argv.slice(2)
if (args.includes(STANDBY)) standBy()
const name = args.find((argument): argument is RoleName => argument in ROLES)
if (name === undefined) throw new TypeError(`no role in ${args.join(' ')}`)
process.exitCode = await runRole(new Shell(), name, ROLES[name])
