import { describe, expect, it } from 'vitest'
import { FieldError } from '../../src/domain/fields.ts'
import { compile, constant, field, type Given } from '../support/file-types/responses.ts'

describe('an address that does not fit its type', () => {
  it.each([
    ['ipv4', '10.0.0.256'],
    ['ipv4', '10.0.1'],
    ['ipv4', '10.0.0.01'],
    ['ipv6', '10.0.0.1'],
    ['ipv6', '1:2:3'],
    ['ipv6', '::1]/['],
    ['url', '/path'],
    ['sip', 'tel:1'],
  ])('is refused: %s %s', (address_type, address) => {
    const final_unit = { action: 'redirect', address_type, address }
    expect(() => compile(undefined, { realtime: { final_unit } })).toThrow(
      `realtime.final_unit.address is not an address of the type ${address_type}`,
    )
  })
})

describe('a wrong response section', () => {
  /** The path and reason of the refusal. */
  function refusal(section: unknown, given: Given = {}): string {
    try {
      compile(section, given)
    } catch (error) {
      if (error instanceof FieldError) return error.message
      throw error
    }
    return 'accepted'
  }

  const names = 'must be names of letters, digits, _, -, : and @ with dots between'
  it.each([
    [undefined, 'response.fields.0.response_field_name is missing'],
    ['', 'response.fields.0.response_field_name must be a text that is not empty'],
    [1, 'response.fields.0.response_field_name must be a text that is not empty'],
    ['a b', `response.fields.0.response_field_name ${names}`],
    ['a..b', `response.fields.0.response_field_name ${names}`],
    ['a.0', 'response.fields.0.response_field_name must not have a number as a name: 0'],
  ])('is refused for the name %j', (response_field_name, message) => {
    expect(refusal({ fields: [{ response_field_name, constant: 1 }] })).toBe(message)
  })

  const row = 'response.fields.0.row_field_name'
  it.each([
    [field('a', undefined), `${row} is missing`],
    [field('a', 'nope'), `${row} must be a field of answers, or uf. and a path, is 'nope'`],
    [field('a', 'toString'), `${row} must be a field of answers, or uf. and a path, is 'toString'`],
    [
      field('a', 'uf.a['),
      `${row} must be the path of a field, such as a.b, a.0.b or a[key=value].b, is 'uf.a['`,
    ],
    [field('a', {}), `${row}.classMethod is missing`],
    [
      field('a', { classMethod: 'getServiceRating' }),
      `${row}.classMethod must be one of getStatus, getDesc, getErrorCode, is 'getServiceRating'`,
    ],
    [field('a', { method: 'getStatus' }), `${row}.method is not known`],
    [field('a', 'sid', { constant: 1 }), `${row} cannot be given together with constant`],
    [
      constant('a', 1, { default_value: 2 }),
      'response.fields.0.default_value cannot be given together with constant',
    ],
    [constant('a', null), 'response.fields.0.constant must be a text, a number, true or false'],
    [constant('a', []), 'response.fields.0.constant must be a text, a number, true or false'],
    [
      field('a', 'sid', { default_value: {} }),
      'response.fields.0.default_value must be a text, a number, true or false',
    ],
    [field('a', 'sid', { defalt: 1 }), 'response.fields.0.defalt is not known'],
    [field('a', 'sid', { conditions: {} }), 'response.fields.0.conditions must be a list'],
    [
      field('a', 'sid', { conditions: [{ field_name: 'x', value: 1 }] }),
      'response.fields.0.conditions.0.field_name must be a field of answers, or uf. and a path, ' +
        "is 'x'",
    ],
    [
      field('a', 'sid', { unit: 'byte' }),
      'response.fields.0.unit is for volumes only: granted_volume, usagev, threshold, in_group, ' +
        'over_group, out_group',
    ],
    ['sid', 'response.fields.0 must be an object'],
  ])('is refused for the field %j', (document, message) => {
    expect(refusal({ fields: [document] })).toBe(message)
  })

  const at = 'response.fields.1.response_field_name is in conflict with response.fields.0'
  it.each([
    ['a', 'a', `${at}.response_field_name: a is a field there`],
    ['a', 'a.b', `${at}.response_field_name: a is a field there`],
    ['a.b', 'a', `${at}.response_field_name: a is a group of fields there`],
    ['a.b', 'a.b.c', `${at}.response_field_name: b is a field there`],
  ])('is refused for the names %s and %s', (one, other, message) => {
    expect(refusal({ fields: [field(one, 'sid'), field(other, 'aid')] })).toBe(message)
  })

  const fields = [field('a', 'sid')]
  it.each([
    [[], 'response must be an object'],
    [{ feilds: [] }, 'response.feilds is not known'],
    [{ fields: {} }, 'response.fields must be a list'],
    [{ fields: [] }, 'response.fields must have at least one field'],
    [
      { encode: 'array' },
      "response.encode must be one of json, xml, key_value, diameter, is 'array'",
    ],
    [
      { encode: 'diameter' },
      'response.encode diameter is for messages that are parsed as diameter',
    ],
    [{ encode: 'json', root: 'a' }, 'response.root is not known'],
    [{ pair_separator: '&' }, 'response.pair_separator is not known'],
    [
      { encode: 'xml', root: '1' },
      'response.root must be the name of an XML element: a letter, then letters and digits',
    ],
    [
      { encode: 'xml', fields: [field('a.@b', 'sid')] },
      'response.fields.0.response_field_name must be the name of an XML element: ' +
        'a letter, then letters and digits',
    ],
    [{ encode: 'key_value', quoting: 'x' }, /^response.quoting must be one of percent/],
    [{ return_codes: { ok: 'x' } }, 'response.return_codes.ok must be a whole number'],
    [{ services: {} }, 'response.fields is missing: there are services'],
    [{ fields, services: {} }, 'response.services needs realtime.services_field'],
  ])('is refused: %j', (section, message) => {
    if (typeof message === 'string') expect(refusal(section)).toBe(message)
    else expect(refusal(section)).toMatch(message)
  })

  it.each([
    [{}, 'response.services.field is missing'],
    [{ field: 's' }, 'response.services.fields is missing'],
    [{ field: 's', fields: [] }, 'response.services.fields must have at least one field'],
    [
      { field: 's', fields: [field('a', 'x')] },
      'response.services.fields.0.row_field_name must be a field of answers, or uf. and a path, ' +
        "is 'x'",
    ],
    [
      { field: 'a', fields },
      'response.services.field is in conflict with response.fields.0.response_field_name: ' +
        'a is a field there',
    ],
    [{ field: 's', fields, more: 1 }, 'response.services.more is not known'],
  ])('is refused for the services %j', (services, message) => {
    expect(refusal({ fields, services }, { hasServices: true })).toBe(message)
  })

  const end = 'realtime.call.final_unit'
  it.each([
    [{ quota_holding_time: -1 }, 'realtime.quota_holding_time must be a whole number from 0 to'],
    [{ quota_holding_time: '60' }, 'realtime.quota_holding_time must be a whole number from 0 to'],
    [{ quota_threshold: 101 }, 'realtime.quota_threshold must be a whole number from 0 to 100'],
    [{ sms: { quota_threshold: 1.5 } }, 'realtime.sms.quota_threshold must be a whole number'],
    [{ final_unit: 'redirect' }, 'realtime.final_unit must be an object'],
    [{ call: { final_unit: {} } }, `${end}.action must be one of none, terminate`],
    [{ call: { final_unit: { action: 'none', x: 1 } } }, `${end}.x is not known`],
    [
      { call: { final_unit: { action: 'terminate', address: 'x' } } },
      `${end}.address does not apply to the action terminate`,
    ],
    [
      { call: { final_unit: { action: 'redirect', address_type: 'ipv4', address: '::1' } } },
      `${end}.address is not an address of the type ipv4`,
    ],
    [
      { call: { final_unit: { action: 'redirect', address: '::1' } } },
      `${end}.address_type must be one of ipv4, ipv6, url, sip`,
    ],
    [{ call: { final_unit: { action: 'restrict' } } }, `${end}.filters is missing`],
    [
      { call: { final_unit: { action: 'restrict', filters: [] } } },
      `${end}.filters must have at least one filter`,
    ],
    [
      { call: { final_unit: { action: 'restrict', filters: [''] } } },
      `${end}.filters.0 must be a text that is not empty`,
    ],
  ])('is refused for the settings %j', (realtime, message) => {
    expect(refusal(undefined, { realtime })).toContain(message)
  })
})
