import { expect, test } from 'bun:test'
import { actionInWords, permissionInWords } from './permissions'

test('permissions and operations are told in words', () => {
  expect(permissionInWords('Create:unavailabilities')).toBe('report unavailabilities')
  expect(permissionInWords('Read:new-things')).toBe('read new things')
  expect(actionInWords('updateOrganisation')).toBe('Update organisation')
  expect(actionInWords('createAPIKey')).toBe('Create API key')
})
