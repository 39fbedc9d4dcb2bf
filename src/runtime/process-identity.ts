/** Who a process is to others, so that what it left undone can be finished by them. */
import { randomUUID } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

export interface ProcessIdentity {
  /** Name of the machine; on Linux also since when it runs, and whose process numbers these are. */
  host: string
  pid: number
  /** Tells this process from a later one with the same number. */
  instance: string
}

/** Containers may have the same name and the same process numbers: these tell them apart. */
function numberSpace(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return `${boot} ${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return ''
  }
}

const self: ProcessIdentity = {
  host: `${hostname()} ${numberSpace()}`.trim(),
  pid: process.pid,
  instance: randomUUID(),
}

export function processIdentity(): ProcessIdentity {
  return self
}

/** Whether a process has surely ended: on this machine, and there is none with its number. */
export function hasEnded({ host, pid, instance }: ProcessIdentity): boolean {
  if (host !== self.host || instance === self.instance) return false
  if (pid === self.pid) return true
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}
