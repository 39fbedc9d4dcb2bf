/** Positions in lists by time, and times of answers. */
import type { Identified } from '../api/records.ts'

interface Timed extends Identified {
  /** A date of an answer. */
  readonly urt: unknown
}

/** `2026-03-01T10:00:00.000Z~65f0c0ffee01234567890008` */
export function timePosition({ urt, _id }: Timed): string {
  return `${isoOf(urt)}~${_id.$id}`
}

/** A filter of the rows after a position, in the order of descending time and id. */
export function afterTime(position: string): Record<string, unknown> {
  const [urt = '', id = ''] = position.split('~')
  return {
    urt: { $lte: urt },
    $or: [{ urt: { $lt: urt } }, { urt: { $eq: urt }, _id: { $lt: id } }],
  }
}

/** A date of an answer in ISO 8601. */
export function isoOf(value: unknown): string {
  if (typeof value !== 'object' || value === null || !('sec' in value)) return String(value ?? '')
  const { sec, usec = 0 } = value as { sec: number; usec?: number }
  return new Date(sec * 1000 + usec / 1000).toISOString()
}
