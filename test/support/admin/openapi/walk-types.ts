/** Options and result of the walk by a generated client (client/walk.ts). */

export interface WalkOptions {
  readonly admin: string
  readonly client: { readonly id: string; readonly secret: string }
  /** Part of the names of created entities, which must be new. */
  readonly suffix: string
  /** Charges the subscriber for five minutes of this usage type. */
  charge(sid: number, usaget: string): Promise<void>
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
  readonly refused: string
}
