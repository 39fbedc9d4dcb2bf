import type { CursorBatch } from '../wire/batch.ts'

/** The fields of an answer (`ok` is added), or a batch of documents. */
export type CommandReply = { readonly [field: string]: unknown } | { readonly batch: CursorBatch }
