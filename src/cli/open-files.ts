/** Checks at the start that a process may open as many files as its settings allow connections. */
import { readFileSync } from 'node:fs'
import type { Config } from '../config/schema.ts'
import { availableCores } from '../runtime/cores.ts'
import { CommandError } from './errors.ts'

/** For stores, files, and connections that are accepted between two checks. */
const RESERVE = 1024
/** Connections to both stores, and what a thread itself has open. */
const PER_WORKER = 32

type Settings = {
  readonly realtime: Pick<Config['realtime'], 'connectionsMax' | 'listeners' | 'workers'>
  readonly diameter: Pick<Config['diameter'], 'enabled' | 'connectionsMax'>
  readonly admin: Pick<Config['admin'], 'connectionsMax'>
}

/** Throws `CommandError` with the number that is needed, its parts, and the limit. */
export function checkOpenFiles(
  role: 'realtime' | 'admin' | 'recorder' | 'sources',
  config: Settings,
  limit = fileLimit(),
  cores = availableCores(),
): void {
  const parts = [...partsOf(role, config, cores), ['stores and reserve', RESERVE] as const]
  const needed = parts.reduce((sum, [, count]) => sum + count, 0)
  if (needed <= limit) return
  const list = parts.map(([name, count]) => `${name} ${count}`).join(', ')
  throw new CommandError(
    `${role} needs ${needed} open files (${list}), but the limit of the process is ${limit}: ` +
      'raise it (ulimit -n, LimitNOFILE=), or lower these settings',
  )
}

function partsOf(
  role: string,
  { realtime, diameter, admin }: Settings,
  cores: number,
): (readonly [name: string, count: number])[] {
  if (role === 'recorder' || role === 'sources') return []
  if (role === 'admin') return [['admin.connectionsMax', admin.connectionsMax]]
  const workers = realtime.workers === 0 ? cores : realtime.workers * realtime.listeners
  return [
    ['realtime.connectionsMax', realtime.connectionsMax],
    ...(diameter.enabled ? [['diameter.connectionsMax', diameter.connectionsMax] as const] : []),
    [`${workers} workers`, workers * PER_WORKER],
  ]
}

/** Limit of open files of this process; infinite if the system does not report it. */
function fileLimit(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8')
    return Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY)
  } catch {
    return Number.POSITIVE_INFINITY
  }
}
