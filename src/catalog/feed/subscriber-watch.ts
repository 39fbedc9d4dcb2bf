/** Notifies caches of changed subscribers; profiles are cached where they are used, not here. */
import type { RawDocument } from '../compile/document.ts'
import type { Catalog } from '../connection.ts'
import { identifiersIn } from '../entities/identifiers.ts'
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
  identifiers: () => readonly string[]
  notify: (change: SubscriberChange) => void
}

export function createSubscriberWatch(dependencies: SubscriberWatchOptions): SubscriberWatch {
  const { catalog, identifiers, notify } = dependencies
  const cursor = createCursor()
  return {
    async follow(number) {
      const step = cursor.step(number)
      if (step === 'nothing') return
      if (step === 'reload') {
        // Entries cached before the first read may be older than this number.
        notify({ scope: 'all' })
      } else {
        for await (const page of readChanges(catalog, 'subscribers', cursor.processed(), number)) {
          for (const document of page) notify(changeOf(document, identifiers()))
        }
      }
      cursor.advance(number)
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
