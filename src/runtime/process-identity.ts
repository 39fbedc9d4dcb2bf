/** Identity of a process, so that other processes can finish its intents after it has ended. */
import { randomUUID } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

export interface ProcessIdentity {
  /** Host name; on Linux with boot id and pid namespace. */
  host: string
  pid: number
  /** Distinguishes this process from a later one with the same pid. */
  instance: string
}

/** Distinguishes containers with the same host name and pids. */
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

/** Whether a process has certainly ended: it ran on this machine, and its pid does not exist. */
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
