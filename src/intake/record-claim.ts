/** The claim on a rejected record: one process at a time charges it, by one of its texts. */
import type { Catalog } from '../catalog/connection.ts'
import { type Patience, repeated } from '../catalog/patience.ts'
import { RECORD_REPLAY_MS } from '../domain/replay.ts'
import type { Clock } from '../runtime/clock.ts'
import type { RecordWorker } from './record-charger.ts'

export interface ClaimStores {
  readonly catalog: Pick<Catalog, 'intakerejected'>
  readonly clock: Clock
  readonly patience: Patience
  readonly worker: RecordWorker
}

/**
 * A claim that was not renewed for so long is that of a process that has ended: records are sent
 * to the ledger within a quarter of this time after it was renewed (`findRecorded`).
 */
const CLAIM_MS = RECORD_REPLAY_MS

/** Another process has claimed the record since. */
export class RecordClaimLostError extends Error {
  override name = 'RecordClaimLostError'
}

export class RecordClaim {
  readonly #stores: ClaimStores
  readonly #id: string
  readonly #text: string
  #claimed: Date

  constructor(stores: ClaimStores, id: string, text: string) {
    this.#stores = stores
    this.#id = id
    this.#text = text
    this.#claimed = new Date(stores.clock.nowMs())
  }

  /** Matches the record while this claim is valid. */
  get held() {
    const state = 'submitted' as const
    return { _id: this.#id, state, text: this.#text, claimed: this.#claimed }
  }

  /** Until its outcome is stored, no other text can be submitted. Returns whether it has it. */
  async take(): Promise<boolean> {
    const endedBefore = new Date(this.#claimed.getTime() - CLAIM_MS)
    const free = [{ claimed: { $exists: false } }, { claimed: { $lt: endedBefore } }]
    const [claimed, text] = [this.#claimed, this.#text]
    const filter = {
      _id: this.#id,
      $or: [
        { state: 'waiting' as const },
        { state: 'submitted' as const, text, $or: [...free, { claimed }] },
      ],
    }
    return this.#set(filter, { state: 'submitted', text, claimed, updated: claimed })
  }

  /** Renews the claim before each batch, which it rejects with `RecordClaimLostError`. */
  get worker(): RecordWorker {
    return {
      process: async (task) => {
        const before = this.held
        const claimed = new Date(Math.max(this.#stores.clock.nowMs(), before.claimed.getTime()))
        const filter = { ...before, claimed: { $in: [before.claimed, claimed] } }
        if (!(await this.#set(filter, { claimed }))) throw new RecordClaimLostError()
        this.#claimed = claimed
        return this.#stores.worker.process(task)
      },
    }
  }

  /** After a failure, when nothing is under way any more: the same text can be submitted again. */
  async release(): Promise<void> {
    const { intakerejected } = this.#stores.catalog
    await intakerejected.updateOne(this.held, { $unset: { claimed: '' } })
  }

  async #set(filter: object, $set: object): Promise<boolean> {
    const { catalog, patience } = this.#stores
    const write = () => catalog.intakerejected.findOneAndUpdate(filter, { $set })
    return (await repeated(write, patience)) !== null
  }
}
