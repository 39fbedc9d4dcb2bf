/** Schemas of files of usage records and of records in answers. */
import {
  choice,
  closed,
  date,
  integer,
  listOf,
  number,
  text,
} from '../../../catalog/entities/json-schema.ts'

const time = (description: string) => date(description)

export const FILE_STATES = ['running', 'done', 'failed'] as const

export const INTAKE_FILE = closed('A file of usage records.', {
  file: text('Its id.'),
  name: text('Its name.'),
  file_type: text('Its file type.'),
  state: choice(
    FILE_STATES,
    '`failed`: it contradicts its trailer or header, or is unreadable from some place on.',
  ),
  error: text('Why it failed; empty otherwise.'),
  size: integer('Its bytes.'),
  offset: integer('Bytes that are done.'),
  read: integer('Records that were read.'),
  charged: integer('Records that were charged.'),
  duplicates: integer('Records that were charged before.'),
  filtered: integer('Records that are not to be charged.'),
  rejected: integer('Records that were rejected.'),
  totals: listOf(
    closed('A usage type.', {
      usaget: text('The usage type.'),
      records: integer('Records that were charged.'),
      units: integer('Their units.'),
      price: number('Their price before tax.'),
    }),
    'What was charged, by usage type.',
  ),
  begun: time('When it was begun.'),
  updated: time('When its last records were charged.'),
})

export const REJECTED_STATES = ['waiting', 'submitted', 'corrected', 'dropped'] as const

export const REJECTED_RECORD = closed('A record that was rejected.', {
  id: text('Its id.'),
  file: text('Id of its file.'),
  file_name: text('Name of its file.'),
  file_type: text('File type of its file.'),
  line: integer('Its line in the file.'),
  text: text('The record, as it was submitted last.'),
  field: text('The field that is wrong, or `record`.'),
  reason: text('What is wrong.'),
  state: choice(
    REJECTED_STATES,
    '`waiting` until it is charged or dropped; `submitted`: its text is being charged, or that ' +
      'was interrupted: the same text can be submitted again.',
  ),
  created: time('When it was rejected.'),
  updated: time('When it was changed last.'),
})

export const CHARGED_RECORD = closed('A record.', {
  state: choice(
    ['charged', 'duplicate', 'filtered', 'rejected'],
    '`duplicate`: charged before; `filtered`: not to be charged.',
  ),
  stamp: text('Stamp of its line; empty without one.'),
  reason: text('Why it is rejected; empty otherwise.'),
})
