/** Cores that this process may use. */
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'

/**
 * The cores of its affinity, or of the CPU quota of its container or service (cgroup v2) if that is
 * less: Node 20 does not read quotas. A part of a core does not count, as in Node 22.
 */
export function availableCores(read = readText, cores = availableParallelism()): number {
  const own = /^0::(\/.*)$/m.exec(read('/proc/self/cgroup'))?.[1] ?? '/'
  let least = cores
  for (let group = own; ; group = join(group, '..')) {
    const [quota = '', period = ''] = read(join('/sys/fs/cgroup', group, 'cpu.max')).split(' ')
    // Without a quota it is the word max.
    if (Number(quota) > 0) least = Math.min(least, Number(quota) / Number(period))
    if (group === '/') return Math.max(1, Math.floor(least))
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
