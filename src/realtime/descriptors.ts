import { closeSync, openSync, readFileSync } from 'node:fs'
import { devNull } from 'node:os'

/** What stays free for stores, files and the connections that come between two looks. */
const RESERVE = 1024
/** The same where there are few descriptors at all. */
const RESERVE_SHARE = 0.25

/**
 * The number that the next connection would get: the system gives the lowest that is free. It
 * reaches the limit exactly when there are no more, and it costs the same however many there are.
 */
export function nextDescriptor(): number {
  try {
    const descriptor = openSync(devNull, 'r')
    closeSync(descriptor)
    return descriptor
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

/**
 * The number that no connection should get: `connectionsMax` above `base`, and below the
 * limit of the process by a reserve.
 */
export function descriptorCeiling(base: number, connectionsMax: number, limit = fileLimit()) {
  return Math.max(base + 1, Math.min(base + connectionsMax, limit - reserveOf(limit)))
}

/** How many of `connectionsMax` may be beside those of HTTP: half of what the limit leaves. */
export function nonHttpConnectionsMax(connectionsMax: number, limit = fileLimit()): number {
  return Math.max(1, Math.min(connectionsMax, Math.floor((limit - reserveOf(limit)) / 2)))
}

function reserveOf(limit: number): number {
  return Math.min(RESERVE, Math.ceil(limit * RESERVE_SHARE))
}

/** Open files that this process may have; infinite where the system does not say. */
function fileLimit(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8')
    return Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY)
  } catch {
    return Number.POSITIVE_INFINITY
  }
}
