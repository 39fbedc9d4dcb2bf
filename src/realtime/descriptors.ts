import { closeSync, openSync, readFileSync } from 'node:fs'
import { devNull } from 'node:os'

/** Descriptors reserved for stores, files and connections accepted between two checks. */
const RESERVE = 1024
/** Limit of the reserve where the process may have few descriptors. */
const RESERVE_SHARE = 0.25

/**
 * Number of the next descriptor: the system assigns the lowest free one. It reaches the limit
 * exactly when no descriptor is left, and reading it takes constant time.
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
 * First descriptor number that no connection may have: `connectionsMax` above `base`, and below the
 * process limit by the reserve.
 */
export function descriptorCeiling(base: number, connectionsMax: number, limit = fileLimit()) {
  return Math.max(base + 1, Math.min(base + connectionsMax, limit - reserveOf(limit)))
}

/**
 * How many of `connectionsMax` may be open for protocols other than HTTP: half of the descriptors
 * that the process limit leaves.
 */
export function nonHttpConnectionsMax(connectionsMax: number, limit = fileLimit()): number {
  return Math.max(1, Math.min(connectionsMax, Math.floor((limit - reserveOf(limit)) / 2)))
}

function reserveOf(limit: number): number {
  return Math.min(RESERVE, Math.ceil(limit * RESERVE_SHARE))
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
