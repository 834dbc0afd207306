"""The people other tests rely on are who they say they are."""

from gridloom.platform.identity.permissions import Role


class TestOrganisationUnderTest:
    async def test_has_one_signed_in_person_per_role(self, app, new_organisation):
        organisation = await new_organisation()
        for role in Role:
            caller = await app.authenticator.authenticate(organisation.people[role].tokens.access)
            assert caller.role == role
            assert caller.organisation_id == organisation.id
            assert not caller.is_operator
