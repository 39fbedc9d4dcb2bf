/** Notifies caches of changed subscribers; profiles are cached where they are used, not here. */
import type { Clock } from '../../runtime/clock.ts'
import type { RawDocument } from '../compile/document.ts'
import type { Catalog } from '../connection.ts'
import { identifiersIn } from '../entities/identifiers.ts'
import { LATE_WRITES_MAX } from '../revisions/revisions.ts'
import { createCursor, readChanges } from './follow.ts'

/** A changed subscriber or account, with its current identifiers. */
export interface ChangedSubscriber {
  scope: 'one'
  aid: number
  /** 0 for the account itself. */
  sid: number
  msisdn: string
  imsi: readonly string[]
  /** Validity of the document, epoch ms; both 0 if it is deleted. */
  fromMs: number
  toMs: number
  /** Further identifying fields. */
  others: readonly { field: string; value: string }[]
}

/**
 * Cache entries to drop. `one`: the subscriber `sid` under all its identifiers, and cached results
 * for its current identifiers (also that they belong to no subscriber). Also entries that depend on
 * the account: if `sid` is 0 the profiles of all its subscribers, otherwise those that include its
 * pool (profiles.ts).
 */
export type SubscriberChange = { scope: 'all' } | ChangedSubscriber

export interface SubscriberWatch {
  /** Notifies of changes up to this revision number. Rejects if it cannot read. */
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
  /**
   * Number of the last notified write of recent documents, because the look-back reads them again.
   */
  const notified = new Map<string, number>()

  const notifyOnce = (document: RawDocument): void => {
    const id = String(document._id)
    if (notified.get(id) === document.rev) return
    notify(changeOf(document, identifiers()))
    notified.set(id, document.rev)
  }

  return {
    async follow(number) {
      const step = cursor.step(number)
      if (step === 'nothing') return
      if (step === 'reload') {
        // Entries cached before the first read may be older than this number.
        notified.clear()
        notify({ scope: 'all' })
        // Entries read from now on include these writes, so the look-back must not report them.
        for await (const page of readChanges(catalog, 'subscribers', number - LATE_WRITES_MAX)) {
          for (const document of page) notified.set(String(document._id), document.rev)
        }
      } else {
        for await (const page of readChanges(catalog, 'subscribers', cursor.readAbove())) {
          for (const document of page) notifyOnce(document)
        }
      }
      cursor.advance(number)
      for (const [id, rev] of notified) {
        if (rev <= number - LATE_WRITES_MAX) notified.delete(id)
      }
    },
  }
}

/** Stored documents may have any form: values of other types cannot be cached either. */
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
