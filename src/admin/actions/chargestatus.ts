/** `chargestatus`: charges and their states; those that wait for an operator. */
import { Type } from '@sinclair/typebox'
import type { Filter } from '../../catalog/collections.ts'
import { listOf } from '../../catalog/entities/json-schema.ts'
import {
  CHARGE_STATES,
  type GatewayChargeDocument,
} from '../../catalog/records/money/payment-documents.ts'
import { action } from './action.ts'
import { CHARGE, chargeView } from './charge-view.ts'
import { param } from './parameters.ts'

const SIZE = 100
const SIZE_MAX = 1000
const PAGE_MAX = 1_000_000

export const chargestatus = action({
  name: 'chargestatus',
  level: 'read',
  about: 'List charges through payment gateways, newest first',
  isReadByGet: true,
  parameters: Type.Object({
    aid: param.optional(param.integer('Number of the account.', { minimum: 1 })),
    state: param.optional(param.choice(CHARGE_STATES, 'State of the charge.')),
    tasks: param.optional(param.flag('Only charges about which an operator has to decide.')),
    page: param.optional(param.integer('From 0.', { minimum: 0, maximum: PAGE_MAX })),
    size: param.optional(
      param.integer('Charges per page; 100 by default.', { minimum: 1, maximum: SIZE_MAX }),
    ),
  }),
  answer: { details: listOf(CHARGE, 'Charges.') },
  example: {
    parameters: { tasks: true },
    answer: {
      details: [
        {
          id: 'tg_5f0c7e1a9b3d4c6e8f7a0b1c2d3e4f50',
          aid: 17,
          txid: '0000000000042',
          gateway: 'stripe',
          amount: '70.2',
          bills: [{ type: 'inv', id: 101, amount: '70.2' }],
          state: 'unknown',
          status: '',
          code: '',
          final: false,
          attempt: 1,
          reason: 'monthly collection',
          created: '2026-06-01T09:00:00+0000',
          sent: '2026-06-01T09:00:00+0000',
          asked: 10,
          due: null,
          task: '2026-06-08T09:00:00+0000',
        },
      ],
    },
  },
  async run({ aid, state, tasks = false, page = 0, size = SIZE }, { catalog, config }) {
    const filter: Filter<GatewayChargeDocument> = {
      ...(aid !== undefined && { aid }),
      ...(state !== undefined && { state }),
      ...(tasks && { task: { $gt: new Date(0) } }),
    }
    const found = await catalog.reads.gatewaycharges
      .find(filter)
      .sort({ created: -1, _id: 1 })
      .skip(page * size)
      .limit(size)
      .toArray()
    return { details: found.map((charge) => chargeView(charge, config.rating.timeZone)) }
  },
})
