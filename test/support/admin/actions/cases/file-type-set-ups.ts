/** Set-up of file types, and of a subscriber whose messages are rated. */
import { ACTIONS } from '../../../../../src/admin/actions/table.ts'
import { checkFileType } from '../../../../../src/realtime/check-file-type.ts'
import { insertEntity } from '../../../catalog/store.ts'
import { topUp } from '../../../recorder/accounts.ts'
import { type Fields, useActionServer } from '../action-server.ts'
import type { SetUp } from './set-up.ts'
import type { World } from './steps.ts'

const GY = {
  file_type: 'GY',
  parser: { type: 'json' },
  processor: {
    date_field: 'when',
    usaget_mapping: [{ usaget: 'data', volume_src: ['asked'] }],
  },
  customer_identification_fields: { '*': [{ src_key: 'line', target_key: 'msisdn' }] },
  realtime: {
    request_type_field: 'type',
    session_id_fields: ['sess'],
    used_usagev_field: ['used'],
    services_field: 'units',
  },
  response: { fields: [{ response_field_name: 'code', row_field_name: 'return_code' }] },
}
const START = { type: 1, sess: 's', line: '44', when: '2026-01-02 03:04:05', units: [{ asked: 5 }] }
const samplesOf = (count: number, message: string) =>
  Array.from({ length: count }, (_, index) => ({ name: `n${index}`, message, expect: {} }))

export function fileTypes(): SetUp {
  const server = useActionServer(ACTIONS, {}, { checkFileType, hasLedger: true })
  return {
    server,
    async prepare() {
      const catalog = server.catalog()
      const rate = [{ from: 0, to: 'UNLIMITED', interval: 1, price: 1 }]
      const gold = { rates: { data: { BASE: { rate } } }, params: { service: 'gold' } }
      await insertEntity(catalog, 'rates')
      await insertEntity(catalog, 'rates', { key: 'GOLDEN', ...gold })
      await insertEntity(catalog, 'plans')
      await insertEntity(catalog, 'subscribers', { aid: 7, sid: 71, msisdn: '44' })
      await topUp(server.ledger(), 7, 71, 3_000, 'units')
    },
    variablesOf: () => ({
      ...{ GY, start: START, now: { ...START, when: '2026-06-15 12:00:00' } },
      manySamples: samplesOf(101, 'x'),
      longSamples: samplesOf(5, 'x'.repeat(60_000)),
    }),
    verbs: {
      /** Stores file types in place of those that are stored. */
      async install(_world: World, value: readonly Fields[]) {
        const stored = { rev: 1, value, changed: new Date(0), changed_by: 'test' }
        const { config } = server.catalog()
        await config.replaceOne({ _id: 'file_types' }, stored as never, { upsert: true })
      },
    },
  }
}
