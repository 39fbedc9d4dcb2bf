/** Memory of a process, from the kernel's accounts (Linux only). */
import { readFileSync } from 'node:fs'

/** Memory of a process that is not the cache of a file, in MiB. */
export function anonymousMib(pid: number): number {
  const [, kib = '0'] = /RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kib) / 1024
}

/** The largest of the samples in each quarter of the time, rounded. */
export function byQuarter(samples: readonly number[]): number[] {
  const quarter = Math.ceil(samples.length / 4)
  return [0, 1, 2, 3].map((at) =>
    Math.round(Math.max(...samples.slice(at * quarter, (at + 1) * quarter))),
  )
}
