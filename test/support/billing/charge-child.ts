/** A process that charges one account and may be killed meanwhile. */

import { chargeAccount } from '../../../src/billing/charges/run.ts'
import { openCatalog } from '../../../src/catalog/connection.ts'
import { sendStripeTo } from '../external/fake-stripe.ts'
import { chargeDeps, NOW_MS, runOf } from './charge-deps.ts'

const [url = '', database = '', stripeAddress = '', aid = ''] = process.argv.slice(2)
sendStripeTo(stripeAddress)
const catalog = await openCatalog({ url, database, timeoutMs: 20_000, appName: 'child' })
await chargeAccount(chargeDeps({ catalog, now: () => NOW_MS }), runOf(Number(aid)))
await catalog.close()
