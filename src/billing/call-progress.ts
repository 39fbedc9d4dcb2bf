/** How far a call that is done in parts has come, from its stored parts. Reads only. */
import type { Catalog } from '../catalog/connection.ts'
import type {
  KeyedCallDocument,
  KeyedPartDocument,
} from '../catalog/records/money/idempotency-document.ts'
import { hasEnded } from '../runtime/process-identity.ts'
import { callIdOf } from './idempotency.ts'

export interface CallProgress {
  readonly id: string
  /** `interrupted`: its process has died; a repetition with the same key continues. */
  readonly state: 'received' | 'running' | 'interrupted' | 'done'
  /** The results of its committed parts, in their order. */
  readonly results: readonly unknown[]
}

/** `name`: id of the call, or the `Idempotency-Key` with which the caller sent it. */
export async function readProgress(
  catalog: Catalog,
  name: string,
  { action, caller }: { readonly action: string; readonly caller: string },
): Promise<CallProgress | null> {
  const ids = [name, callIdOf({ action, caller, key: name })]
  const found = await catalog.idempotency.findOne({ _id: { $in: ids }, action })
  if (found === null) return null
  const { _id: id, state, holder } = found as KeyedCallDocument
  const parts = await catalog.idempotency.find({ call: id }).sort({ part: 1 }).toArray()
  const results = (parts as KeyedPartDocument[]).flatMap((part) => part.results)
  if (state === 'done') return { id, state, results }
  if (hasEnded(holder)) return { id, state: 'interrupted', results }
  return { id, state: parts.length === 0 ? 'received' : 'running', results }
}
