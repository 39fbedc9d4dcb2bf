/**
 * Tells which subscribers changed; their profiles are not kept here but cached where they are used.
 */
import type { Clock } from '../../runtime/clock.ts'
import type { RawDocument } from '../compile/document.ts'
import type { Catalog } from '../connection.ts'
import { identifiersIn } from '../entities/identifiers.ts'
import { LATE_WRITES_MAX } from '../revisions/revisions.ts'
import { createCursor, readChanges } from './follow.ts'

/** A subscriber or account that changed, with the identifiers that it has now. */
export interface ChangedSubscriber {
  scope: 'one'
  aid: number
  /** 0: the account itself. */
  sid: number
  msisdn: string
  imsi: readonly string[]
  /** When the document holds, epoch ms; never if it is marked deleted (0 and 0). */
  fromMs: number
  toMs: number
  /** The further fields that subscribers are found by. */
  others: readonly { field: string; value: string }[]
}

/**
 * What caches must drop. `one`: the subscriber `sid` under all its identifiers, and what is known
 * of the identifiers that it has now (also that nobody has them); and what depends on the account:
 * with `sid` 0 the profiles of all its subscribers, else those that hold its pool (profiles.ts).
 */
export type SubscriberChange = { scope: 'all' } | ChangedSubscriber

export interface SubscriberWatch {
  /** Tells of what changed up to this revision number. Rejects if it cannot read. */
  follow(number: number): Promise<void>
}

interface SubscriberWatchOptions {
  catalog: Catalog
  clock: Clock
  identifiers: () => readonly string[]
  notify: (change: SubscriberChange) => void
}

export function createSubscriberWatch(dependencies: SubscriberWatchOptions): SubscriberWatch {
  const { catalog, clock, identifiers, notify } = dependencies
  const cursor = createCursor(clock)
  /** Number of the last told write of recent documents: the look back finds them again. */
  const told = new Map<string, number>()

  const tellOnce = (document: RawDocument): void => {
    const id = String(document._id)
    if (told.get(id) === document.rev) return
    notify(changeOf(document, identifiers()))
    told.set(id, document.rev)
  }

  return {
    async follow(number) {
      const step = cursor.step(number)
      if (step === 'nothing') return
      if (step === 'reload') {
        // What was cached before the first look may be older than this number.
        told.clear()
        notify({ scope: 'all' })
        // What is read from now on is as new as these: the later look is for others.
        for await (const page of readChanges(catalog, 'subscribers', number - LATE_WRITES_MAX)) {
          for (const document of page) told.set(String(document._id), document.rev)
        }
      } else {
        for await (const page of readChanges(catalog, 'subscribers', cursor.readAbove())) {
          for (const document of page) tellOnce(document)
        }
      }
      cursor.advance(number)
      for (const [id, rev] of told) {
        if (rev <= number - LATE_WRITES_MAX) told.delete(id)
      }
    },
  }
}

/**
 * The document may be anything that somebody stored: what is not there has no cache entry either.
 */
function changeOf(document: RawDocument, identifiers: readonly string[]): SubscriberChange {
  const { aid, sid, msisdn, imsi, from, to } = document
  const isDated = from instanceof Date && to instanceof Date && document['deleted'] !== true
  return {
    scope: 'one',
    aid: typeof aid === 'number' ? aid : 0,
    sid: typeof sid === 'number' ? sid : 0,
    msisdn: typeof msisdn === 'string' ? msisdn : '',
    fromMs: isDated ? from.getTime() : 0,
    toMs: isDated ? to.getTime() : 0,
    imsi: Array.isArray(imsi) ? imsi.filter((value) => typeof value === 'string') : [],
    others: identifiers.flatMap((field) =>
      identifiersIn(document, field).map((value) => ({ field, value })),
    ),
  }
}
