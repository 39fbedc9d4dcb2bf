/** What operations have in common: envelopes, errors, parameters (spec/entity-api.md 1.2-1.7). */
import {
  ExecutionError,
  InvalidFieldsError,
  NotAllowedError,
  RequestError,
  RuleError,
  TargetError,
} from '../errors.ts'
import { DATE_SCHEMA, type Schema } from './schemas.ts'

const json = (schema: Schema, more: Schema = {}) => ({
  content: { 'application/json': { schema, ...more } },
})

const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` })

const FAILED = { type: 'integer', const: 0 } as const
const DONE = { type: 'integer', const: 1 } as const

export const COMMON_SCHEMAS: Readonly<Record<string, Schema>> = {
  id: { type: 'object', properties: { $id: { type: 'string' } }, required: ['$id'] },
  date: {
    description: 'A text with its offset in reads, seconds in answers to writes.',
    anyOf: [
      { type: 'string' },
      { type: 'object', properties: { sec: { type: 'integer' }, usec: { type: 'integer' } } },
    ],
  },
  dateGiven: DATE_SCHEMA,
  ruleError: {
    description: 'A rule is violated; the text names the field or date.',
    type: 'object',
    properties: {
      status: FAILED,
      code: { type: 'integer' },
      message: { type: 'string' },
      display: {
        description: 'The code of the rule; of invalid fields a text of JSON that names them.',
        type: ['object', 'string'],
      },
    },
    required: ['status', 'code', 'message'],
    examples: [
      new RuleError('firstname is mandatory').body(),
      new InvalidFieldsError([{ path: 'update.aid', reason: 'must be an integer' }]).body(),
      new NotAllowedError('Not allowed').body(),
    ],
  },
  generalError: {
    description: 'What is addressed is not there or not one, or the request cannot be read.',
    type: 'object',
    properties: {
      status: FAILED,
      code: { type: 'integer' },
      data: { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] },
    },
    required: ['status', 'code', 'data'],
    examples: [new TargetError('there is no such revision').body()],
  },
  executionError: {
    description: 'An import or export fails as a whole.',
    type: 'object',
    properties: { status: FAILED, errorCode: { type: 'integer' }, desc: { type: 'string' } },
    required: ['status', 'errorCode', 'desc'],
    examples: [new ExecutionError('the file has no rows').body()],
  },
  error: {
    description: 'A failure that the caller can mend has HTTP status 200 and `status` 0.',
    anyOf: [ref('ruleError'), ref('generalError'), ref('executionError')],
  },
  importAnswer: {
    type: 'object',
    properties: {
      status: { type: 'integer', description: '1: all rows, 2: not all rows' },
      details: {
        type: 'object',
        description: 'By line number: true, or why the row was refused.',
        additionalProperties: { type: ['boolean', 'string'] },
      },
      warnings: { type: 'array', items: { type: 'string' } },
    },
    required: ['status', 'details'],
  },
}

export const COMMON_RESPONSES: Readonly<Record<string, Schema>> = {
  unreadable: {
    description: 'The request cannot be read, or is too large.',
    ...json(ref('generalError'), { example: new RequestError(400, 'is not JSON').body() }),
  },
  unavailable: {
    description: 'A store is down; a write may have been done all the same.',
    ...json(ref('generalError'), { example: new RequestError(503, 'try again').body() }),
  },
}

/** The answer of a read, of documents of this schema. */
export function readAnswer(entity: Schema): Schema {
  return {
    type: 'object',
    properties: {
      status: DONE,
      next_page: { type: 'boolean', description: 'Whether there are more rows.' },
      details: { type: 'array', items: entity },
    },
    required: ['status', 'details'],
  }
}

/** The answer of a write. */
export function writeAnswer(entity: Schema, more: Record<string, Schema> = {}): Schema {
  return {
    type: 'object',
    properties: {
      status: DONE,
      details: { type: ['boolean', 'null'], description: 'Whether anything was changed.' },
      entity: { description: 'The document after it.', anyOf: [entity, { type: 'null' }] },
      ...more,
    },
    required: ['status', 'details'],
  }
}

/** Schema of a parameter beside `query` and `update`: the large one is a component. */
export function optionSchema(name: string): Schema {
  return name === 'options' ? ref('options') : (OPTION_SCHEMAS[name] ?? {})
}

/** Parameters beside `query` and `update`, by name: the same in addresses and in bodies. */
export const OPTION_SCHEMAS: Readonly<Record<string, Schema>> = {
  options: {
    type: 'object',
    description: 'or_fields, push_fields, pull_fields; of an export headers and delimiter.',
    properties: {
      or_fields: {
        type: 'array',
        items: { type: 'string' },
        description: 'Fields of query of which one is enough.',
      },
      push_fields: changes('Values to append to fields that are lists.'),
      pull_fields: changes('Values to take away; pull_by_key: the part of a member to compare.'),
      headers: { type: 'boolean', description: 'Of an export: whether it begins with names.' },
      delimiter: { type: 'string', description: 'Of an export: one character.' },
    },
    additionalProperties: false,
  },
  page: { type: 'integer', minimum: 0, default: 0, description: 'From 0.' },
  size: {
    type: 'integer',
    description: 'Rows of a page; 0 or below: as many as are allowed.',
  },
  sort: {
    type: 'object',
    additionalProperties: { enum: [1, -1] },
    description: '1 ascending, -1 descending.',
  },
  project: {
    type: 'object',
    additionalProperties: { enum: [0, 1, false, true] },
    description: 'Fields to show; revision_info tells what may be done with a revision.',
  },
  states: {
    type: 'array',
    items: { enum: [0, 1, 2] },
    default: [0, 1],
    description: '0 active, 1 future, 2 expired.',
  },
  additional: { type: 'object', description: 'Kept on the line of the change.' },
  file_name: { type: 'string', description: 'Name of the download, without its ending.' },
  delimiter: { type: 'string', description: 'Between cells; a comma if it is not given.' },
}

function changes(description: string): Schema {
  const properties = {
    field_name: { type: 'string' },
    field_values: { type: 'array' },
    pull_by_key: { type: 'string' },
  }
  const items = { type: 'object', properties, required: ['field_name', 'field_values'] }
  return { type: 'array', items, description }
}

export const IDEMPOTENCY_KEY: Schema = {
  name: 'Idempotency-Key',
  in: 'header',
  schema: { type: 'string', maxLength: 128 },
  description: 'The same key again moves nothing, and shows what was done.',
}

export { json, ref }
