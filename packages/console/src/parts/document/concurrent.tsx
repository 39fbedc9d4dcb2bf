/** Saves of a revision that others may have saved meanwhile: by version, merged by field. */
import { useState } from 'preact/hooks'
import type { BodyOf } from '../../api/call-types.ts'
import { answerOf } from '../../api/client.ts'
import { Refusal } from '../../api/errors.ts'
import { type Fields, readRecords } from '../../api/records.ts'
import { Conflict } from '../conflict.tsx'
import { textIn } from '../differences.ts'
import {
  type Choice,
  type Clash,
  type Document,
  type Merge,
  mergeOf,
  pathOf,
  valueAt,
  withValue,
} from './values.ts'

interface Edited {
  readonly collection: string
  /** Value of the key of the entity: the audit has its last author. */
  readonly key: string
  readonly revision: Fields
  /** The part of a revision that the form edits. */
  readonly termsOf: (revision: Fields) => Document
}

/** Saved by somebody else while the form was open. */
interface Other {
  readonly merge: Merge
  readonly mine: Document
  readonly stored: Document
  readonly author: string | null
}

interface Write {
  readonly action: string
  readonly body: object
  /** As the form has it now. */
  readonly draft: Document
  /** Gets the draft with what only the other one has changed. */
  readonly onMerged: (draft: Document) => void
}

/** `base`: the stored terms that the draft is compared with. `write` throws `Refusal`. */
export function useConcurrentEdit({ collection, key, revision, termsOf }: Edited) {
  const [base, setBase] = useState(() => ({ terms: termsOf(revision), of: revision }))
  const { setOther, conflict } = useConflict()
  /** Resolves with the id of the saved revision. */
  const write = async ({ action, body, draft, onMerged }: Write): Promise<string | null> => {
    const path = `billapi/${collection}/${action}` as 'billapi/rates/update'
    try {
      const ifMatch = `"${versionOf(base.of)}"`
      return savedId(await answerOf(path, body as BodyOf<typeof path>, { ifMatch }))
    } catch (error) {
      const stored = storedIn(error)
      if (stored === null) throw error
      const next = termsOf(stored)
      const merge = mergeOf(base.terms, draft, next)
      const author = await lastAuthor(collection, key)
      setOther({ merge, mine: draft, stored: next, author })
      setBase({ terms: next, of: stored })
      onMerged(merge.merged)
      throw error
    }
  }
  return { base: base.terms, write, conflict }
}

/** The edits of two people, merged: `setOther` shows the conflict. */
export function useConflict() {
  const [other, show] = useState<Other | null>(null)
  const [choices, setChoices] = useState<Readonly<Record<string, Choice>>>({})
  const setOther = (next: Other) => {
    show(next)
    setChoices({})
  }
  /** Shows the differences, and asks about each clash; null without a conflict. */
  const conflict = (
    draft: Document,
    onDraft: (draft: Document) => void,
    labelOf?: (field: string) => string,
  ) => {
    if (other === null) return null
    const choose = ({ field }: Clash, choice: Choice) => {
      const path = pathOf(field)
      const source = choice === 'mine' ? other.mine : other.stored
      onDraft(withValue(draft, path, valueAt(source, path)) as Document)
      setChoices({ ...choices, [field]: choice })
    }
    const { merge, author } = other
    return (
      <Conflict
        merge={merge}
        author={author}
        choices={choices}
        onChoose={choose}
        {...(labelOf !== undefined && { labelOf })}
      />
    )
  }
  return { setOther, conflict, choices }
}

function versionOf(revision: Fields): string {
  return textIn((revision['revision_info'] ?? {}) as Fields, 'version')
}

function savedId(answer: unknown): string | null {
  const { entity } = answer as { readonly entity?: { readonly _id?: { readonly $id?: string } } }
  return entity?._id?.$id ?? null
}

/** The revision that a conflict tells; null for other errors and for a revision that is deleted. */
function storedIn(error: unknown): Fields | null {
  if (!(error instanceof Refusal) || error.kind !== 'conflict') return null
  return (error.answer as { readonly entity?: Fields | null }).entity ?? null
}

/** User of the last change; null if it is unknown, or may not be read. */
async function lastAuthor(collection: string, key: string): Promise<string | null> {
  const body = { query: { collection, key }, sort: { _id: -1 }, size: 1 }
  try {
    const [last] = await readRecords<Fields>('audit', body)
    return textIn((last?.['user'] ?? {}) as Fields, 'name') || null
  } catch (error) {
    if (error instanceof Refusal) return null
    throw error
  }
}
