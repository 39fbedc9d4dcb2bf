import { beforeAll, describe, expect, it } from 'vitest'
import { filetypecheck } from '../../../src/admin/actions/filetype-check.ts'
import { filetypes } from '../../../src/admin/actions/filetypes.ts'
import { checkFileType } from '../../../src/realtime/check.ts'
import { useActionServer } from '../../support/admin/actions/action-server.ts'
import { insertEntity } from '../../support/catalog/store.ts'
import { topUp } from '../../support/recorder/accounts.ts'

const api = useActionServer([filetypecheck, filetypes], {}, { checkFileType, hasLedger: true })
const bare = useActionServer([filetypecheck])

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

interface Step {
  step: string
  ok: boolean
  result: unknown
}

async function check(params: Record<string, unknown>) {
  const answer = await api.ask('api/filetype/check', params, { as: 'json' })
  expect(answer).toMatchObject({ status: 1, input: {} })
  const { ok, steps } = answer['details'] as { ok: boolean; steps: Step[] }
  return { ok, steps, of: (step: string) => steps.find((each) => each.step === step) }
}

async function install(value: readonly unknown[]): Promise<void> {
  const stored = { rev: 1, value, changed: new Date(0), changed_by: 'test' }
  await api.catalog().config.replaceOne({ _id: 'file_types' }, stored as never, { upsert: true })
}

describe('filetypecheck', () => {
  it('shows the steps of a message, like the command', async () => {
    const { ok, steps, of } = await check({ document: GY, message: JSON.stringify(START) })
    expect([ok, steps.every((step) => step.ok)]).toEqual([true, true])
    expect(steps.map(({ step }) => step)).toEqual([
      'document',
      'message',
      'request type',
      'session',
      'request number',
      'event time',
      'services.0',
      'subscriber',
      'rating',
      'request',
      'answer if granted',
      'answer if denied',
    ])
    expect(of('answer if granted')?.result).toBe('{"code":1}')
  })

  it('marks the first wrong byte', async () => {
    const cut = await check({ document: GY, message: '{"type":' })
    expect([cut.ok, cut.of('message')?.result]).toEqual([
      false,
      { field: 'body', why: 'is not JSON', offset: 8 },
    ])
    const message = JSON.stringify({ ...START, when: 'soon' })
    const late = await check({ document: GY, message })
    const offset = message.indexOf('"soon"')
    expect(late.of('request')?.result).toMatchObject({ field: 'when', offset })
    const { when: _, ...timeless } = START
    const none = await check({ document: GY, message: JSON.stringify({ ...timeless, type: 9 }) })
    expect(none.ok).toBe(false)
  })

  it('reads bytes that are not UTF-8 from base 64', async () => {
    const bytes = Buffer.from([0x7b, 0xff])
    const { of } = await check({ document: GY, message_base64: bytes.toString('base64') })
    expect(of('message')?.result).toMatchObject({ why: 'is not UTF-8', offset: 1 })
  })

  it('uses an installed file type, built in or stored', async () => {
    await install([GY])
    expect((await check({ file_type: 'GY', message: JSON.stringify(START) })).ok).toBe(true)
    const none = await api.ask('filetypecheck', { file_type: 'XX', message: 'x' })
    expect(none).toMatchObject({
      status: 0,
      message: 'Field file_type names no installed file type: XX',
    })
  })

  it('says what is wrong with a document', async () => {
    const { ok, steps } = await check({ document: { ...GY, parser: { type: 'x' } }, message: '{}' })
    expect([ok, steps]).toMatchObject([
      false,
      [{ step: 'document', ok: false, result: { path: 'file_types.GY.parser.type' } }],
    ])
  })

  it.each([
    [{ message: 'x' }, 'Following field/s are missing: file_type or document'],
    [{ document: GY }, 'Following field/s are missing: message or message_base64'],
    [
      { document: GY, file_type: 'GY', message: 'x' },
      'Field file_type cannot be combined with document',
    ],
    [{ document: GY, message_base64: '*' }, 'Field message_base64 must be base 64'],
    [{ document: GY, message: 'é'.repeat(40_000) }, 'Field message has more than 65536 bytes'],
    [{ document: GY, message: 'x'.repeat(70_000) }, 'Field message has more than 65536 characters'],
    [{ document: [1], message: 'x' }, 'Field document should be of type Object'],
    [
      { document: { ...GY, x: 'x'.repeat(70_000) }, message: 'x' },
      'Field document has more than 65536 characters',
    ],
  ])('refuses %#', async (params, message) => {
    const answer = await api.ask('filetypecheck', params, { as: 'json' })
    expect(answer).toMatchObject({ status: 0, message })
  })

  it('is unavailable on a server without formats', async () => {
    expect(await bare.ask('filetypecheck', { document: GY, message: 'x' })).toMatchObject({
      http: 503,
      status: 0,
    })
  })
})

describe('filetypecheck of samples', () => {
  const sampleOf = async (name: string, message: string, document: object = GY) => {
    const { details } = await api.ask('filetypecheck', { document, message }, { as: 'json' })
    return { name, message, expect: (details as { expect: object }).expect }
  }
  const run = async (params: Record<string, unknown>) => {
    const sent = { samples: true, ...params }
    const answer = await api.ask('filetypecheck', sent, { as: 'json' })
    expect(answer).toMatchObject({ status: 1 })
    return answer['details']
  }
  const { when: _, ...TIMELESS } = START

  it('has what a sample of a message would expect', async () => {
    const { expect: expected } = await sampleOf('a', JSON.stringify(START))
    expect(expected).toMatchObject({
      request: {
        kind: 'start',
        sessionId: 's',
        eventTime: '2026-01-02T03:04:05.000Z',
        services: [{ usaget: 'data', requested: 5 }],
      },
      answers: { 'answer if granted': '{"code":1}' },
    })
    expect(expected).not.toHaveProperty('request.origin')
    const wrong = await sampleOf('b', '{"type":')
    expect(wrong.expect).toMatchObject({ error: { field: 'body', why: 'is not JSON' } })
    expect(wrong.expect).not.toHaveProperty('request')
    expect((await sampleOf('c', '{}', { ...GY, parser: {} })).expect).toBeNull()
  })

  it('checks all, with the differences of a changed document', async () => {
    const good = await sampleOf('good', JSON.stringify(TIMELESS))
    const cut = await sampleOf('cut', '{"type":')
    const document = { ...GY, samples: [good, cut] }
    expect(await run({ document })).toEqual({
      ok: true,
      samples: [
        { name: 'good', ok: true, differences: [] },
        { name: 'cut', ok: true, differences: [] },
      ],
    })
    await install([document])
    expect(await run({ file_type: 'GY' })).toMatchObject({ ok: true, samples: [{}, {}] })
    const usaget_mapping = [{ usaget: 'sms', volume_src: ['asked'] }]
    const changed = { ...GY, processor: { ...GY.processor, usaget_mapping } }
    expect(await run({ document: changed })).toEqual({
      ok: false,
      samples: [
        {
          name: 'good',
          ok: false,
          differences: [{ field: 'request.services.0.usaget', expected: 'data', actual: 'sms' }],
        },
        { name: 'cut', ok: true, differences: [] },
      ],
    })
  })

  it('compares a request that is not expected, and services that are too many', async () => {
    const more = {
      name: 'more',
      message: JSON.stringify(START),
      expect: { request: { services: [] } },
    }
    const wrong = { name: 'wrong', message: JSON.stringify(START), expect: { error: { why: 'x' } } }
    expect(await run({ document: { ...GY, samples: [more, wrong] } })).toMatchObject({
      samples: [
        {
          differences: [{ field: 'request.services.0', expected: null, actual: { requested: 5 } }],
        },
        {
          differences: [
            { field: 'request', expected: null, actual: { kind: 'start' } },
            { field: 'error', expected: { why: 'x' }, actual: null },
          ],
        },
      ],
    })
  })

  it('of a file type without samples has none', async () => {
    expect(await run({ document: { ...GY, file_type: 'OTHER' } })).toEqual({
      ok: true,
      samples: [],
    })
    expect(await run({ file_type: 'xml' })).toEqual({ ok: true, samples: [] })
  })

  it.each([
    [{ samples: [{ name: 'a', message: 'x' }] }, 'samples.0.expect', 'is missing'],
    [{ samples: [{ name: 'a', expect: {} }] }, 'samples.0', 'needs one of message and'],
    [{ samples: [{ name: ' ', message: 'x', expect: {} }] }, 'samples.0.name', '1 to 100'],
    [{ samples: {} }, 'samples', 'must be a list'],
    [{ parser: { type: 'x' } }, 'parser.type', ''],
  ])('refuses document %#, with its path', async (more, path, reason) => {
    const sent = { samples: true, document: { ...GY, ...more } }
    expect(await api.ask('filetypecheck', sent, { as: 'json' })).toMatchObject({
      status: 0,
      code: 17_576,
      fields: [{ path: `file_types.GY.${path}`, reason: expect.stringContaining(reason) }],
    })
  })

  it('refuses more samples than are kept, a repeated name, and a message beside', async () => {
    const sample = { name: 'a', message: 'x', expect: {} }
    const numbered = (count: number, more: object = {}) =>
      Array.from({ length: count }, (__, index) => ({ ...sample, name: `n${index}`, ...more }))
    const refusal = async (samples: object[]) => {
      const sent = { samples: true, document: { ...GY, samples } }
      return (await api.ask('filetypecheck', sent, { as: 'json' }))['message']
    }
    expect(await refusal(numbered(101))).toContain('samples has more than 100 members')
    expect(await refusal(numbered(5, { message: 'x'.repeat(60_000) }))).toContain('262144 char')
    expect(await refusal([sample, sample])).toContain("samples.1.name 'a' occurs twice")
    const both = { samples: true, file_type: 'xml', message: 'x' }
    expect(await api.ask('filetypecheck', both, { as: 'json' })).toMatchObject({
      message: 'Field message cannot be combined with samples',
    })
  })
})

describe('filetypecheck with rate', () => {
  const NOW = { ...START, when: '2026-06-15 12:00:00' }
  const rated = (message: object, document: object = GY) => {
    return check({ document, message: JSON.stringify(message), rate: true })
  }

  beforeAll(async () => {
    await insertEntity(api.catalog(), 'rates')
    await insertEntity(api.catalog(), 'rates', {
      key: 'GOLDEN',
      rates: { data: { BASE: { rate: [{ from: 0, to: 'UNLIMITED', interval: 1, price: 1 }] } } },
      params: { service: 'gold' },
    })
    await insertEntity(api.catalog(), 'plans')
    await insertEntity(api.catalog(), 'subscribers', { aid: 7, sid: 71, msisdn: '44' })
    await topUp(api.ledger(), 7, 71, 3_000, 'units')
  })

  it('finds the subscriber, prices each service, and answers as charging would', async () => {
    for (const _ of [1, 2]) {
      const { ok, steps, of } = await rated(NOW)
      expect([ok, steps.every((step) => step.ok)]).toEqual([true, true])
      expect(of('found subscriber')?.result).toMatchObject({ key: 'msisdn', value: '44', sid: 71 })
      expect(of('price')?.result).toMatchObject({
        code: 1,
        services: [{ usaget: 'data', requested: 5, granted: 5, code: 1, rate: 'DATA', aprice: 0 }],
      })
      expect(of('answer')?.result).toBe('{"code":1}')
      expect(of('answer if granted')).toBeUndefined()
    }
    const more = await rated({ ...NOW, units: [{ asked: 9_000 }] })
    expect(more.of('price')?.result).toMatchObject({ services: [{ granted: 3_000 }] })
  })

  it('answers without prices that the network element did not ask for', async () => {
    const fields = [{ response_field_name: 'price', row_field_name: 'aprice' }]
    const { of } = await rated(NOW, { ...GY, response: { fields } })
    expect(of('answer')?.result).toBe('{}')
  })

  it('refuses an unknown subscriber, with the answer', async () => {
    const { ok, of } = await rated({ ...NOW, line: '45' })
    expect([ok, of('found subscriber'), of('price')]).toEqual([
      true,
      {
        step: 'found subscriber',
        ok: false,
        result: { looked_for: ['msisdn 45'], code: -2, why: 'Subscriber not found' },
      },
      undefined,
    ])
    expect(of('answer')?.result).toBe('{"code":-2}')
  })

  it('refuses usage without a rate', async () => {
    const usaget_mapping = [{ usaget: 'roaming', volume_src: ['asked'] }]
    const { of } = await rated(NOW, { ...GY, processor: { ...GY.processor, usaget_mapping } })
    expect(of('price')).toMatchObject({
      ok: false,
      result: { code: -3, services: [{ usaget: 'roaming', granted: 0, code: -3 }] },
    })
    expect(of('answer')?.result).toBe('{"code":-3}')
  })

  it('matches rates by the rules of the document', async () => {
    const rule = { type: 'match', rate_key: 'params.service', line_key: 'kind' }
    const rate_calculators = { retail: { '*': [[rule]] } }
    const { of } = await rated({ ...NOW, kind: 'gold' }, { ...GY, rate_calculators })
    expect(of('price')?.result).toMatchObject({ services: [{ rate: 'GOLDEN' }] })
    const none = await rated({ ...NOW, kind: 'tin' }, { ...GY, rate_calculators })
    expect(none.of('price')?.result).toMatchObject({ services: [{ code: -3 }] })
  })

  it('searches no field without an index', async () => {
    const rules = { '*': [{ src_key: 'line', target_key: 'shoe_size' }] }
    const { of } = await rated(NOW, { ...GY, customer_identification_fields: rules })
    expect(of('found subscriber')).toMatchObject({
      ok: false,
      result: { why: 'subscribers are not searched by shoe_size before the file type is stored' },
    })
    expect(of('answer if granted')?.result).toBe('{"code":1}')
  })

  it('does not rate an update, whose session it does not know', async () => {
    const { ok, of } = await rated({ ...NOW, type: 2, units: [{ used: 5, asked: 5 }] })
    expect([ok, of('found subscriber')?.result]).toEqual([
      true,
      'a message of the kind update is rated with its open session, not by itself',
    ])
    expect(of('answer if granted')?.result).toBe('{"code":1}')
  })

  it('needs the permission of quotes', async () => {
    const sent = { document: GY, message: JSON.stringify(NOW) }
    const how = { as: 'json', user: 'api/quote', role: 'read' } as const
    expect(await api.ask('filetypecheck', sent, how)).toMatchObject({ status: 1 })
    expect(await api.ask('filetypecheck', { ...sent, rate: true }, how)).toMatchObject({
      status: 0,
      message: 'No permission: you may not quote, and so not rate a message',
    })
  })
})

describe('filetypes', () => {
  it('lists stored and built-in file types with their state', async () => {
    const broken = { ...GY, file_type: 'BROKEN', parser: { type: 'x' } }
    await install([GY, broken, { ...GY, file_type: 'xml', enabled: false }])
    const { details } = await api.ask('filetypes', {}, { method: 'GET', as: 'query' })
    expect(details).toEqual([
      {
        name: 'BROKEN',
        from: 'stored',
        replaces: false,
        state: 'unusable',
        problem: { path: 'file_types.BROKEN.parser.type', reason: expect.any(String) },
      },
      { name: 'GY', from: 'stored', replaces: false, state: 'enabled', parser: 'json' },
      {
        name: 'diameter',
        from: 'built_in',
        replaces: false,
        state: 'enabled',
        parser: 'diameter',
      },
      {
        name: 'keyvalue',
        from: 'built_in',
        replaces: false,
        state: 'enabled',
        parser: 'key_value',
      },
      { name: 'xml', from: 'stored', replaces: true, state: 'disabled', parser: 'json' },
    ])
    expect(await api.ask('filetypes', { name: 'keyvalue' })).toMatchObject({
      details: [{ name: 'keyvalue' }],
    })
    expect(await api.ask('filetypes', { name: 'NONE' })).toMatchObject({ details: [] })
  })
})
