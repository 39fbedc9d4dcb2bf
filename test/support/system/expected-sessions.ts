/** Sessions of a finished workload, and the lines that must exist for them. */

/** Units of one report, and its known outcome. */
export interface Report {
  units: number
  /**
   * `unknowable`: the answer was lost, a concurrent request overtook it, and its repetition is now
   * out of order, whether or not it had been settled.
   */
  fate: 'settled' | 'refused' | 'unknowable'
}

export interface ServiceTruth {
  ratingGroup: number | null
  usaget: string
  /** Ordered by request number. */
  reports: Report[]
  /**
   * Units of reports that may have been used without a grant, whatever the outcome of the report.
   */
  ungranted: number[]
}

/** Facts about one session after the workload. */
export interface SessionTruth {
  sessionId: string
  /** The session id on its lines. */
  lineSessionId: string
  aid: number
  sid: number
  opened: boolean
  /** Name of the message format, and how many of its requests were answered a second time. */
  dialect: string
  repeated: number
  /** Reports contain the total usage of the session: each settles the earlier ones. */
  countsTotals: boolean
  services: ServiceTruth[]
  /** Answers that were wrong in themselves. */
  complaints: string[]
}

/** The possible sums of the lines of a service. */
export interface Expected {
  /** Possible units: one of these. */
  used: number[]
  /** Reports that certainly moved units, and those that may have. */
  moved: number
  mayHaveMoved: number
}

/** A session of which only its subscriber is known; in plain JSON. */
export function sessionTruth(given: Pick<SessionTruth, 'sessionId' | 'aid' | 'sid'>): SessionTruth {
  const { sessionId: lineSessionId } = given
  const dialect = { dialect: 'json', repeated: 0, countsTotals: false }
  return { ...given, lineSessionId, opened: false, ...dialect, services: [], complaints: [] }
}

export function expectedOf({ countsTotals }: SessionTruth, { reports }: ServiceTruth): Expected {
  return countsTotals ? byTotals(reports) : byReports(reports)
}

/** Each report counts separately. */
function byReports(reports: readonly Report[]): Expected {
  const expected: Expected = { used: [0], moved: 0, mayHaveMoved: 0 }
  for (const { units, fate } of reports) {
    if (units === 0 || fate === 'refused') continue
    const more = expected.used.map((sum) => sum + units)
    expected.used = fate === 'settled' ? more : [...expected.used, ...more]
    expected[fate === 'settled' ? 'moved' : 'mayHaveMoved'] += 1
  }
  return expected
}

/** The last settled report includes all earlier ones; a later one may also have been settled. */
function byTotals(reports: readonly Report[]): Expected {
  let [total, settled, moved, mayHaveMoved] = [0, 0, 0, 0]
  let later: number[] = []
  for (const { units, fate } of reports) {
    total += units
    if (fate === 'unknowable') {
      mayHaveMoved += 1
      later.push(total)
    }
    if (fate !== 'settled') continue
    if (total > settled) moved += 1
    settled = total
    later = []
  }
  return { used: [settled, ...later], moved, mayHaveMoved }
}
