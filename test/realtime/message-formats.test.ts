/** The message formats that network elements may use. */
import { expect, it } from 'vitest'
import { createMessageFormats } from '../../src/realtime/message-formats.ts'
import { recordDocument } from '../support/file-types/records.ts'
import { DEFAULTS, documentWith } from '../support/file-types/sample.ts'
import { jsonCodec } from '../support/realtime/codecs/settings.ts'

it('are those of messages: file types of records are unknown, and no problem', () => {
  const formats = createMessageFormats({
    defaultName: 'json',
    plain: jsonCodec,
    defaults: DEFAULTS,
    identity: { originHost: 'ocs.test', originRealm: 'test' },
  })
  expect(formats.replace([documentWith(), recordDocument()])).toEqual([])
  expect(formats.find('T')).toMatchObject({ name: 'T', parser: 'json' })
  expect(formats.find('CDR')).toEqual(formats.find('nobody'))
  expect(formats.find('CDR')).toMatchObject({ missing: 'unknown' })
})
