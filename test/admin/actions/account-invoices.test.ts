import { expect, it } from 'vitest'
import { accountinvoices } from '../../../src/admin/actions/account-invoices.ts'
import { useActionServer } from '../../support/admin/actions/action-server.ts'

const server = useActionServer([accountinvoices])

it('lists the invoices of an account, also of one cycle', async () => {
  const ask = (params: object) => server.ask('accountinvoices', { ...params })
  expect(await ask({ aid: 1 })).toMatchObject({ status: 1, details: [] })
  const { insertedIds } = await server.catalog().billrun.insertMany([
    { aid: 1, billrun_key: '202601', invoice_id: 101, due_date: new Date(0) },
    { aid: 1, billrun_key: '202602', invoice_id: 102 },
    { aid: 2, billrun_key: '202601', invoice_id: 103 },
  ])
  const { details } = await ask({ aid: 1 })
  expect(Object.keys(details as object).sort()).toEqual([`${insertedIds[0]}`, `${insertedIds[1]}`])
  expect((await ask({ aid: 1, billrun_key: '202601' }))['details']).toMatchObject({
    [String(insertedIds[0])]: { invoice_id: 101, due_date: expect.stringMatching(/^1970-/) },
  })
  expect(await ask({})).toMatchObject({ status: 0, message: 'Illegal account ids' })
  expect(await ask({ action: 'download', aid: 1 })).toMatchObject({ message: 'Invoice not found' })
})
