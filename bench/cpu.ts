/** Processor time of a process, by the kernel's accounts. */
import { readFileSync } from 'node:fs'

const TICKS_PER_SECOND = 100

/** All threads, user and system time, µs. */
export function cpuMicros(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return ((Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND) * 1e6
}
