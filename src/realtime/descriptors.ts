import { closeSync, openSync } from 'node:fs'
import { devNull } from 'node:os'

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
