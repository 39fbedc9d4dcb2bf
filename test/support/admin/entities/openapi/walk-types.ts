/** What the walk by a generated client (client/walk.ts) takes and gives. */

export interface WalkOptions {
  readonly admin: string
  readonly client: { readonly id: string; readonly secret: string }
  /** In names of what is created, which must be new. */
  readonly suffix: string
  /** Charges the subscriber for five minutes of this usage type. */
  charge(sid: number, usaget: string): Promise<void>
  /** Waits until this is true. */
  until(what: string, isTrue: () => Promise<boolean>): Promise<void>
}

export interface Walked {
  readonly aid: number
  readonly sid: number
  /** Money before and after, as the API shows credit. */
  readonly credit: readonly (number | undefined)[]
  /** Types of the lines. */
  readonly lines: readonly (string | undefined)[]
  readonly revisions: number
  readonly refused: string
}
