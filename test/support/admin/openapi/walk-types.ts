/** Options and result of the walk by `@tollgate/client` (client/walk.ts). */

export interface WalkOptions {
  readonly admin: string
  readonly realtime: string
  readonly client: { readonly id: string; readonly secret: string }
  /** Part of the names of created entities, which must be new. */
  readonly suffix: string
  /** Waits until this is true. */
  until(what: string, isTrue: () => Promise<boolean>): Promise<void>
}

export interface Walked {
  readonly aid: number
  readonly sid: number
  /** Credit before and after, as returned by the API. */
  readonly credit: readonly (number | undefined)[]
  /** Types of the lines. */
  readonly lines: readonly (string | undefined)[]
  readonly revisions: number
  /** Bills of the account, as JSON. */
  readonly owed: string
  readonly refused: string
}
