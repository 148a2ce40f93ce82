"""How the parts of an instance are started."""

from console.supervisor.programs import web_program


def test_the_threads_of_the_web_process_share_two_heaps():
    program = web_program(8000, 3, {"LEVEE_HOME": "/home/levee"})
    assert program.environment == {"LEVEE_HOME": "/home/levee", "MALLOC_ARENA_MAX": "2"}
