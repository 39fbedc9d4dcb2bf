/** Charges usage records by a worker in this process, several batches at once. */
import { type ChargeOutcome, plainOutcome, reasons } from '../domain/charge-outcome.ts'
import type { ChargeRequest } from '../domain/charge-request.ts'
import type { WorkerResult, WorkerTask } from '../domain/worker-task.ts'

/** As `ChargingWorker` of src/workers. */
export interface RecordWorker {
  process(task: WorkerTask): Promise<WorkerResult>
}

const BATCH_RECORDS = 250
const BATCHES_IN_FLIGHT = 4

/** A batch may wait for nothing, for MongoDB, and for a customer system too. */
const LEVELS: readonly Pick<WorkerTask, 'mayLookUp' | 'mayAsk'>[] = [
  { mayLookUp: false },
  { mayLookUp: true },
  { mayLookUp: true, mayAsk: true },
]

/**
 * The outcomes in the order of the requests. Those that have not been sent to the ledger by
 * `deadlineMs` (`processMs`) are `timedOut`.
 */
export async function chargeRecords(
  worker: RecordWorker,
  requests: readonly ChargeRequest[],
  deadlineMs: number,
): Promise<ChargeOutcome[]> {
  const outcomes: ChargeOutcome[] = []
  let at = 0
  const work = async () => {
    while (at < requests.length) {
      const from = at
      at += BATCH_RECORDS
      const batch = requests.slice(from, from + BATCH_RECORDS)
      for (const [index, outcome] of (await chargeBatch(worker, batch, deadlineMs)).entries()) {
        outcomes[from + index] = outcome
      }
    }
  }
  await Promise.all(Array.from({ length: BATCHES_IN_FLIGHT }, work))
  return outcomes
}

async function chargeBatch(
  worker: RecordWorker,
  requests: readonly ChargeRequest[],
  deadlineMs: number,
): Promise<ChargeOutcome[]> {
  const found = new Map<ChargeRequest, ChargeOutcome>()
  let left = [...requests]
  for (const level of LEVELS) {
    if (left.length === 0) break
    const { outcomes } = await worker.process({ requests: left, ...level, deadlineMs })
    for (const [index, request] of left.entries()) {
      const outcome = outcomes[index] ?? null
      if (outcome !== null) found.set(request, outcome)
    }
    left = left.filter((request) => !found.has(request))
  }
  return requests.map((request) => found.get(request) ?? plainOutcome('timedOut'))
}

/** Whether the record has to be sent again: its outcome is an outage, and no decision about it. */
export function isPostponed({ reason }: ChargeOutcome): boolean {
  return reasons[reason].status === 'failed' && reason !== 'corrupt'
}
