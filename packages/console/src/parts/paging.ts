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

/**
 * The position after rows in descending order of times without fractions of a second: the last
 * second, and the number of its rows that were shown. `2026-03-01T10:00:00+0000~3`
 */
export function secondPosition(times: readonly string[]): string {
  const last = times.at(-1) ?? ''
  return `${last}~${times.filter((time) => time === last).length}`
}

/** The last instant of the second of a position, and the rows of it to leave out; null for none. */
export function afterSecond(position: string): { until: string; count: number } | null {
  const [, time = '', zone = '', count = ''] =
    /^([\dT:-]{19})(Z|[+-]\d{2}:?\d{2})~(\d{1,4})$/.exec(position) ?? []
  return count === '' ? null : { until: `${time}.999${zone}`, count: Number(count) }
}
