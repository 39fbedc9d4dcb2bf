/** A postpaid customer in the scene of the console, and a confirmed cycle if a test wants it. */
import { beforeAll } from 'vitest'
import { waitUntil } from '../wait.ts'
import { CHROMIUM } from './browser.ts'
import type { CustomerScene } from './customer-scene.ts'
import { SETUP_MS_MAX, type Visits } from './visits.ts'

type Fields = Record<string, unknown>

export interface BillingScene {
  /** Key of the last cycle that has ended, and of the one before it. */
  readonly key: string
  readonly previous: string
  /** Grace pays 30.00 for each cycle. */
  readonly aid: number
  readonly sid: number
}

/** Adds Grace before the tests of a file. */
export function useBilling(visits: Visits, executable = CHROMIUM): () => BillingScene {
  let billing: BillingScene | undefined
  beforeAll(async () => {
    if (executable !== undefined) billing = await addBilling(visits.scene())
  }, SETUP_MS_MAX)
  return () => {
    if (billing === undefined) throw new Error('the customers have not been added')
    return billing
  }
}

async function addBilling({ api }: CustomerScene): Promise<BillingScene> {
  const from = '2026-01-01'
  const create = async (collection: string, update: Fields) => {
    const answer = await api(`billapi/${collection}/create`, { update: { from, ...update } })
    return answer['entity'] as Fields
  }
  await create('plans', {
    name: 'FLAT',
    connection_type: 'postpaid',
    recurrence: { frequency: 1, start: 1 },
    upfront: false,
    price: [{ from: 0, to: 'UNLIMITED', price: 30 }],
    tax: [{ type: 'vat', taxation: 'no' }],
  })
  const person = { firstname: 'Grace', lastname: 'Hopper', address: '2 Navy Yard' }
  const address = { zip_code: '22202', country: 'US' }
  const { aid } = await create('accounts', { ...person, ...address, email: 'grace@example.org' })
  const { sid } = await create('subscribers', { aid, plan: 'FLAT', ...person })
  const cycles = (await api('billrun/cycles', {}))['details'] as Fields[]
  const [last, before] = cycles.filter((each) => each['cycle_status'] === 'to_run')
  const keyOf = (cycle: Fields | undefined) => String(cycle?.['billrun_key'])
  return { key: keyOf(last), previous: keyOf(before), aid: Number(aid), sid: Number(sid) }
}

/** Computes and confirms the cycle. */
export async function confirmCycle({ api }: CustomerScene, stamp: string): Promise<void> {
  const reaches = (status: string) =>
    waitUntil(
      `the cycle is ${status}`,
      async () => {
        const { details } = await api('billrun/cycle', { stamp })
        return (details as Fields)['cycle_status'] === status
      },
      60_000,
    )
  await api('billrun/completecycle', { stamp, generate_pdf: 'false' })
  await reaches('finished')
  await api('billrun/confirmcycle', { stamp })
  await reaches('confirmed')
}
