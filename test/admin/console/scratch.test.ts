import { writeFileSync } from 'node:fs'
import { it } from 'vitest'
import { startCustomerScene } from '../../support/admin/console/customer-scene.ts'

it('explores', async () => {
  const scene = await startCustomerScene()
  const out: string[] = []
  const { sid, aid, api } = scene
  const show = async (path: string, body: Record<string, unknown>) => {
    const answer = await api(path, body).catch((e) => String(e))
    out.push(`### ${path} ${JSON.stringify(body)}\n${JSON.stringify(answer, null, 1)}`)
    return answer
  }
  try {
    await scene.openSession()
    await show('billapi/subscribers/get', { query: { sid }, sort: { from: 1 } })
    await show('billapi/accounts/uniqueget', { query: { aid } })
    await show('billapi/balances/get', { query: { sid } })
    const lines = (await show('billapi/lines/get', { query: { sid }, sort: { urt: -1 }, size: 2 })) as never as { details: { _id: { $id: string }; urt: { sec: number; usec: number } }[] }
    const last = lines.details.at(-1)
    await show('billapi/lines/get', { query: { sid, $or: [{ urt: { $lt: last?.urt } }, { urt: { $eq: last?.urt }, _id: { $lt: last?._id.$id } }] }, sort: { urt: -1, _id: -1 }, size: 5, project: { urt: 1, type: 1 } })
    await show('billapi/lines/get', { query: { sid, _id: { $lt: last?._id } }, size: 5, project: { urt: 1, type: 1 } })
    await show('billapi/lines/get', { query: { sid, urt: { $lte: last?.urt }, _id: { $nin: [last?._id.$id] } }, size: 5, project: { urt: 1, type: 1 } })
    await show('billapi/subscribers/get', { query: { sid, from: { $lte: '2026-03-03' }, to: { $gt: '2026-03-03' } }, project: { plan: 1 } })
    await show('billapi/audit/get', { query: { $or: [{ collection: 'subscribers', key: String(sid) }, { collection: 'balances', key: `${aid}_${sid}` }] }, size: 5 })
    await show('billapi/bills/get', { query: { aid }, sort: { urt: -1 } })
    await show('api/bill', { aid })
    await show('api/accountinvoices', { aid })
    await show('billapi/rates/get', { query: { from: { $lte: '2026-03-03' }, to: { $gt: '2026-03-03' } }, project: { key: 1, rates: 1 } })
  } finally {
    writeFileSync('/tmp/cust-explore.txt', out.join('\n'))
    await scene.close()
  }
})
