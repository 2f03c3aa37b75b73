"""A room that failed stays failed, in the status table and for the decode side."""

import pytest

ROOM = 7


@pytest.mark.fault("A-11", until="0.5.20")
def test_failed_room_is_not_promoted(mooncake):
    table, states = mooncake.manager, mooncake.states
    table.update_status(ROOM, states.Bootstrapping)
    table.update_status(ROOM, states.Failed)

    for later in (states.WaitingForInput, states.Transferring, states.Success):
        table.update_status(ROOM, later)

    assert table.check_status(ROOM) == states.Failed


@pytest.mark.parametrize("late", ["Transferring", "Success"])
@pytest.mark.fault("A-11", until="0.5.20")
def test_cleared_room_is_not_created_again(mooncake, late):
    mooncake.manager.update_status(ROOM, getattr(mooncake.states, late))

    assert ROOM not in mooncake.manager.request_status


@pytest.mark.parametrize("first", ["Bootstrapping", "WaitingForInput"])
@pytest.mark.regression
def test_room_is_opened_by_its_first_states(mooncake, first):
    mooncake.manager.update_status(ROOM, getattr(mooncake.states, first))
    mooncake.manager.update_status(ROOM, mooncake.states.Success)

    assert mooncake.manager.check_status(ROOM) == mooncake.states.Success


@pytest.mark.fault("A-11", until="0.5.20")
def test_abort_during_the_last_send_is_no_success_for_decode(mooncake):
    sender = mooncake.new_sender(ROOM, mooncake.states.Transferring)
    mooncake.expect(ROOM)

    def abort_meanwhile() -> int:
        sender.abort()
        return 0

    mooncake.run_worker(ROOM, send_aux=abort_meanwhile)

    assert mooncake.states.Success not in mooncake.told_decode(ROOM)
    assert sender.poll() == mooncake.states.Failed
    assert mooncake.manager.request_status.get(ROOM, mooncake.states.Failed) == mooncake.states.Failed


@pytest.mark.fault("A-11", until="0.5.20")
def test_room_cleared_during_the_last_send_is_no_success_for_decode(mooncake):
    sender = mooncake.new_sender(ROOM, mooncake.states.Transferring)
    mooncake.expect(ROOM)

    def clear_meanwhile() -> int:
        sender.abort()
        sender.clear()
        return 0

    mooncake.run_worker(ROOM, send_aux=clear_meanwhile)

    assert mooncake.states.Success not in mooncake.told_decode(ROOM)
    assert ROOM not in mooncake.manager.request_status


@pytest.mark.fault("A-7", until="0.5.17")
def test_failed_state_send_is_no_success(mooncake):
    sender = mooncake.new_sender(ROOM, mooncake.states.Transferring)
    mooncake.expect(ROOM)

    mooncake.run_worker(ROOM, send_state=lambda: -1)

    assert set(mooncake.told_decode(ROOM)) == {mooncake.states.Failed}
    assert sender.poll() == mooncake.states.Failed


@pytest.mark.regression
def test_finished_send_is_a_success_for_decode(mooncake):
    sender = mooncake.new_sender(ROOM, mooncake.states.Transferring)
    mooncake.expect(ROOM)

    mooncake.run_worker(ROOM)

    assert mooncake.told_decode(ROOM) == [mooncake.states.Success]
    assert sender.poll() == mooncake.states.Success
