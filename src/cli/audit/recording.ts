/** Waits until the recorder has written what the ledger has said so far. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Ledger } from '../../ledger/ledger.ts'

const POLL_MS = 50
const POLLS_MAX = 400

export interface Recording {
  /**
   * True when all entries that a partition's stream has now are recorded; false if that takes too
   * long, and from then on for this partition. Throws `StoreDownError`.
   */
  reached(partition: number): Promise<boolean>
}

/** `pollsMax` bounds the wait for one partition, at 50 ms each. */
export function watchRecording(ledger: Ledger, pollsMax = POLLS_MAX): Recording {
  const { client, guard } = ledger.redis
  const stuck = new Set<number>()

  const oldest = async (partition: number): Promise<string | undefined> => {
    const [entry] = await guard(client.xrange(ledger.keys.stream(partition), '-', '+', 'COUNT', 1))
    return entry?.[0]
  }
  const newest = async (partition: number): Promise<string | undefined> => {
    const [entry] = await guard(
      client.xrevrange(ledger.keys.stream(partition), '+', '-', 'COUNT', 1),
    )
    return entry?.[0]
  }

  return {
    async reached(partition) {
      if (stuck.has(partition)) return false
      const last = await newest(partition)
      if (last === undefined) return true
      for (let poll = 0; poll < pollsMax; poll += 1) {
        const first = await oldest(partition)
        if (first === undefined || isAfter(first, last)) return true
        await delay(POLL_MS)
      }
      stuck.add(partition)
      return false
    },
  }
}

/** Ids are two numbers: milliseconds and a count. */
function isAfter(id: string, other: string): boolean {
  const [ms = 0, count = 0] = id.split('-').map(Number)
  const [otherMs = 0, otherCount = 0] = other.split('-').map(Number)
  return ms > otherMs || (ms === otherMs && count > otherCount)
}
