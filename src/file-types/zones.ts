/** Time zones in documents and messages: offsets such as `+02:00`, and IANA zones. */
import { instantOf, type LocalTime } from '../domain/time.ts'

/** An IANA zone, or minutes east of UTC. */
export type Zone = string | number

const OFFSET = /^([+-])(0\d|1[0-4]):?([0-5]\d)$/
const CHARS_MAX = 40

/** Cache of zone names; cleared when full, since messages may contain arbitrary names. */
const cache = new Map<string, Zone | null>()
const CACHE_MAX = 1000

/** Null if the zone does not exist. */
export function zoneOf(text: string): Zone | null {
  if (text.length === 0 || text.length > CHARS_MAX) return null
  let zone = cache.get(text)
  if (zone === undefined) {
    zone = lookUp(text)
    if (cache.size >= CACHE_MAX) cache.clear()
    cache.set(text, zone)
  }
  return zone
}

function lookUp(text: string): Zone | null {
  if (text === 'Z' || text === 'z') return 0
  const [, sign, hours, minutes] = OFFSET.exec(text) ?? []
  if (sign !== undefined) {
    const size = Number(hours) * 60 + Number(minutes)
    return sign === '-' ? -size : size
  }
  try {
    // The canonical name: zones are cached by name, and spellings are unlimited.
    return new Intl.DateTimeFormat('en-US', { timeZone: text }).resolvedOptions().timeZone
  } catch {
    return null
  }
}

/** The epoch ms of a local time in the zone. */
export function instantIn(zone: Zone, local: LocalTime): number {
  if (typeof zone === 'string') return instantOf(zone, local)
  const { year, month, day, hour, minute, second } = local
  return Date.UTC(year, month - 1, day, hour, minute, second) - zone * 60_000
}
