/** What a workload knows of its sessions when it has ended, and what that means for their lines. */

/** Units that a report added to the ones before, and what is known to have become of it. */
export interface Report {
  units: number
  /**
   * `unknowable`: the answer was lost, a request sent at the same time overtook it, and its
   * repetition is now out of order, whether or not it had been settled.
   */
  fate: 'settled' | 'refused' | 'unknowable'
}

export interface ServiceTruth {
  ratingGroup: number | null
  usaget: string
  /** In the order of the request numbers. */
  reports: Report[]
  /** Units of reports that may have been used without a grant, whatever became of the report. */
  ungranted: number[]
}

/** What is known for certain of one session when the workload has ended. */
export interface SessionTruth {
  sessionId: string
  /** As the lines have it. */
  lineSessionId: string
  aid: number
  sid: number
  opened: boolean
  /** Name of the dialect, and how many of its requests were answered a second time. */
  dialect: string
  repeated: number
  /** Reports say what was used in the session so far: each settles those before it. */
  countsTotals: boolean
  services: ServiceTruth[]
  /** Answers that were wrong in themselves. */
  complaints: string[]
}

/** What the lines of a service may come to. */
export interface Expected {
  /** Units: one of these. */
  used: number[]
  /** Reports that moved something for certain, and those that may have. */
  moved: number
  mayHaveMoved: number
}

/** A session of which nothing is known yet but who has it; in plain JSON. */
export function sessionTruth(given: Pick<SessionTruth, 'sessionId' | 'aid' | 'sid'>): SessionTruth {
  const { sessionId: lineSessionId } = given
  const dialect = { dialect: 'json', repeated: 0, countsTotals: false }
  return { ...given, lineSessionId, opened: false, ...dialect, services: [], complaints: [] }
}

export function expectedOf({ countsTotals }: SessionTruth, { reports }: ServiceTruth): Expected {
  return countsTotals ? byTotals(reports) : byReports(reports)
}

/** Each report counts for itself. */
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

/** The last one that was settled counts for all before it, or one after it that may have been. */
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
