/** Instants, billing cycles and custom periods by the local time of a time zone. */

interface WallClock {
  year: number
  /** 1 to 12; higher numbers are months of the next year. */
  month: number
  day: number
  hour: number
  minute: number
  second: number
}

const formats = new Map<string, Intl.DateTimeFormat>()

function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone)
  if (known !== undefined) return known
  const made = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    dateStyle: 'short',
    timeStyle: 'medium',
  })
  formats.set(zone, made)
  return made
}

/** `31/12/2026, 23:59:59` as numbers. */
function wallClock(zone: string, atMs: number): WallClock {
  const numbers = formatOf(zone).format(atMs).match(/\d+/g)!.map(Number)
  const [day = 1, month = 1, year = 1970, hour = 0, minute = 0, second = 0] = numbers
  return { year, month, day, hour, minute, second }
}

function asUtc({ year, month, day, hour, minute, second }: WallClock): number {
  return Date.UTC(year, month - 1, day, hour, minute, second)
}

/** The instant at which the clock shows this; days beyond the month continue in the next one. */
function instantAt(zone: string, clock: WallClock): number {
  const expected = asUtc(clock)
  let instant = expected
  for (let tries = 0; tries < 3; tries++) instant += expected - asUtc(wallClock(zone, instant))
  return instant
}

const instants = new Map<string, number>()

/** `2026-01-05T18:31:05Z`, or without a zone: `2026-01-05 18:31:05`, `2026-01-05`. */
export function instantOf(text: string, zone: string): number {
  const key = `${zone} ${text}`
  const known = instants.get(key) ?? readInstant(text, zone)
  instants.set(key, known)
  return known
}

function readInstant(text: string, zone: string): number {
  if (/(Z|[+-]\d\d:?\d\d)$/.test(text) && text.length > 10) return Date.parse(text)
  const [year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0] = text
    .match(/\d+/g)!
    .map(Number)
  return instantAt(zone, { year, month, day, hour, minute, second })
}

export function isWithin(validity: { from?: string; to?: string }, atMs: number, zone: string) {
  const { from, to } = validity
  if (from !== undefined && atMs < instantOf(from, zone)) return false
  return to === undefined || atMs < instantOf(to, zone)
}

export interface ModelCycle {
  fromMs: number
  toMs: number
}

/** The monthly cycle with this first day, from midnight, that contains an instant. */
export function cycleOf(atMs: number, zone: string, cycleDay: number): ModelCycle {
  const { year, month, day } = wallClock(zone, atMs)
  const first = day >= cycleDay ? month : month - 1
  const midnight = { year, day: cycleDay, hour: 0, minute: 0, second: 0 }
  return {
    fromMs: instantAt(zone, { ...midnight, month: first }),
    toMs: instantAt(zone, { ...midnight, month: first + 1 }),
  }
}

/** End of a period such as `+2 weeks`, `+14 days`, `+1 months`, `tomorrow +6 days`. */
export function periodEnd(period: string, fromMs: number, zone: string): number {
  const found = /^(tomorrow )?\+(\d+) (day|week|month)s?$/.exec(period)
  if (found === null) throw new Error(`the model does not read the period ${period}`)
  const [, tomorrow, text, unit] = found
  const start = wallClock(zone, fromMs)
  if (tomorrow !== undefined) Object.assign(start, { hour: 0, minute: 0, second: 0 })
  const number = Number(text)
  const days = unit === 'month' ? 0 : number * (unit === 'week' ? 7 : 1)
  return instantAt(zone, {
    ...start,
    month: start.month + (unit === 'month' ? number : 0),
    day: start.day + days + (tomorrow === undefined ? 0 : 1),
  })
}
