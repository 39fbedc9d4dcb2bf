/** Requests for the erasure of personal data. */
import type { Actor } from '../catalog/actor.ts'

export interface Subject {
  collection: 'accounts' | 'subscribers'
  /** `aid` or `sid`. */
  key: number
}

export interface ErasureRequest {
  subject: Subject
  /** Erases also entities that are in force, have open sessions or owe a debt. */
  force: boolean
  actor: Actor
}
